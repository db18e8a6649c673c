import { escape, layout } from './markup.ts'

/** The simulated phone: its camera, and a frame with the phone page that it has opened. */
export function phonePage(facts: {
  readonly token: string
  readonly serviceOrigin: string
}): string {
  const { token, serviceOrigin } = facts
  return layout({
    title: 'Simulated phone',
    token,
    head: `<link rel="stylesheet" href="/phone.css">
<script type="module" src="/phone.js"></script>`,
    body: `<main id="phone" aria-label="Phone" class="phone" data-service="${escape(serviceOrigin)}">
<div class="bar"><h1>Simulated phone</h1><span id="place"></span><button id="pick-up" type="button" hidden>Pick up the phone</button></div>
<div id="outage" hidden><p id="outage-text" role="alert"></p><button id="start" type="button">Start the service</button></div>
<section id="camera" tabindex="-1" aria-labelledby="title">
<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4M8 12h8"/></svg>
<div role="status"><h2 id="title">Starting</h2><p id="text">The phone connects to the sandbox.</p></div>
<button id="scan" type="button" hidden>Scan the QR code</button>
</section>
</main>`,
  })
}
