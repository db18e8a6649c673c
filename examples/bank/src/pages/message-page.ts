import { layout } from './layout.ts'
import { markup } from './markup.ts'

/** A page with one sentence, for a browser without JavaScript. */
export function messagePage(sentence: string): string {
  const main = markup`<section class="card message">
  <h1>Your application was not sent</h1>
  <p id="result" data-outcome="refused">${sentence}</p>
  <p>The approval by phone needs JavaScript in this browser. Turn it on and open the form again, or visit us at a branch.</p>
  <p><a class="button" href="/">Back to the form</a></p>
</section>`
  return layout('Not sent', { main })
}
