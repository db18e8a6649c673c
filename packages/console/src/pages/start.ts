import { html } from '../html.ts'
import { NOTHING, page } from '../page.ts'
import { includes } from '../roles.ts'

/** The questions of an operator, each with the shortest way to its answer. */
export const start = page({
  ...NOTHING,
  path: '/',
  action: 'console',
  role: 'viewer',
  title: 'What do you want to know?',
  read: async () => undefined,
  draw(_nothing, { session: { role } }) {
    const helps = includes(role, 'support')
    return html`<div class="cards">
${helps && WHY}
${helps && WHO}
<section class="card"><h2>Is the flow healthy?</h2>
<p>How requests end, by hour, day, or week, and which tenants have the most that are not approved.</p>
<p><a class="button quiet" href="/health">Open the health of the flow</a></p></section>
${helps && USER}
<section class="card"><h2>What changed?</h2>
<p>Everything that operators and tenants did, who did it, and whether this record is intact.</p>
<p><a class="button quiet" href="/changes">Open the changes</a></p></section>
<section class="card"><h2>How is a tenant set up?</h2>
<p>Its document, as <code>bonded apply</code> takes it, and its keys.</p>
<p><a class="button quiet" href="/tenants">Open the tenants</a></p></section>
</div>`
  },
})

const WHY = html`<section class="card"><h2>Why was this request rejected?</h2>
<form class="ask" action="/rejections">
<label class="wide">Reference on the user’s screen, session id, subject_ref, or device id
<input name="q" autocomplete="off" spellcheck="false" placeholder="req_…" autofocus></label>
<button>Search</button></form>
<p class="hint">You have none of these? <a href="/rejections">Search by time and reason.</a></p></section>`

const WHO = html`<section class="card"><h2>Who approved what?</h2>
<form class="ask" action="/receipt">
<label class="wide">Session id <input name="session" autocomplete="off" spellcheck="false" placeholder="sess_…" required></label>
<button>Check the receipt</button></form>
<p class="hint">The receipt is verified while the page loads. It outlives its session.</p></section>`

const USER = html`<section class="card"><h2>What about this user?</h2>
<form class="ask" action="/user">
<label class="wide">Session id, device id, or subject_ref, as the tenant’s backend stores it
<input name="subject" autocomplete="off" spellcheck="false" required></label>
<button>Find the user</button></form></section>`
