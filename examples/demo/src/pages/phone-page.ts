import { escape, layout } from './markup.ts'

/** The phone in its frame. Its script draws the screen. */
export function phonePage(facts: { readonly token: string; readonly bankOrigin: string }): string {
  const { token, bankOrigin } = facts
  return layout({
    title: 'Simulated phone',
    token,
    head: `<link rel="stylesheet" href="/phone.css">
<script type="module" src="/phone.js"></script>`,
    body: `<main id="phone" class="phone" data-bank="${escape(bankOrigin)}">
<div class="bar"><span>Simulated phone</span><span class="signal" aria-hidden="true"></span></div>
<div id="outage" hidden><p role="alert"></p><button id="start" type="button">Start the service</button></div>
<p id="spoken" class="unseen" role="status"></p>
<article id="screen" data-screen="loading"></article>
</main>`,
  })
}
