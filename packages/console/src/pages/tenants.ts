import { PAGE_ROWS, textIn } from '../fields.ts'
import { html } from '../html.ts'
import { badge, idOf, stored, tableOf } from '../layout.ts'
import { type Asked, page } from '../page.ts'
import { tenantsCalled } from '../tenant-names.ts'

/** The tenants, by a part of their name or their id. */
export const tenants = page({
  path: '/tenants',
  query: ['q'],
  action: 'tenant list',
  role: 'viewer',
  title: 'Tenants',
  input: ({ query }: Asked) => textIn(query, 'q') ?? '',
  target: () => ({}),
  async read(service, q) {
    const found = await tenantsCalled(service, q)
    return { shown: found.slice(0, PAGE_ROWS), count: found.length }
  },
  draw({ shown, count }, _view, q) {
    const rows = shown.map(({ id, name, environment, workflows, suspendedAt }) => [
      html`<a class="name" href="/tenants/${id}">${stored(name)}</a>`,
      idOf(id),
      environment,
      String(workflows.length),
      suspendedAt === undefined ? badge('active', 'good') : badge('suspended', 'bad'),
    ])
    return html`<form class="filters"><label class="wide">Name or id
<input name="q" value="${q}" autocomplete="off" spellcheck="false"></label><button>Search</button></form>
${tableOf(
  ['Name', 'Id', 'Environment', 'Workflows', 'State'],
  rows,
  q === ''
    ? 'There is no tenant yet. Create one with bonded tenant create, or bonded apply.'
    : 'No tenant has this in its name. Search for a shorter part.',
)}
${count > shown.length && html`<p class="hint">${shown.length} of ${count} tenants are shown. Search for a part of the name.</p>`}`
  },
})
