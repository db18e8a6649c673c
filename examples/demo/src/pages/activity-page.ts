import { layout } from './markup.ts'

/** The strip of recent activity. */
export function activityPage({ token }: { readonly token: string }): string {
  return layout({
    title: 'Activity',
    token,
    head: `<link rel="stylesheet" href="/activity.css">
<script type="module" src="/activity.js"></script>`,
    body: `<main aria-label="Activity">
<div class="head">
  <h1>What just happened</h1>
  <p id="service" role="status"></p>
  <button id="toggle" type="button">Stop the service</button>
</div>
<ol id="entries" tabindex="0" aria-label="Activity, newest first"></ol>
<p id="empty">Nothing yet. Choose Continue to approval on the page.</p>
</main>`,
  })
}
