import { DELIVERY_STATES, parseId } from '@bonded/contract'
import { parseDuration } from '@bonded/cli/program/duration'
import { reportWebhooks } from '@bonded/core/operations/admin/report-webhooks'
import {
  listDeliveries,
  listEndpoints,
  recoverEndpoint,
} from '@bonded/core/operations/admin/webhooks'
import type { WebhookDelivery, WebhookEndpoint } from '@bonded/core/ports/tables/webhook-table'
import { foundIn, PAGE_ROWS, textIn, withMember } from '../fields.ts'
import { type Html, html, type Part } from '../html.ts'
import { actionTo, badge, factsOf, idOf, stored, tableOf, tenantOf, timeOf } from '../layout.ts'
import { action, type Asked, page, type View } from '../page.ts'
import { warningsOf } from './log.ts'

/** What can be sent again, as `--since` of the command. */
const PERIODS: Readonly<Record<string, string>> = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
}

/** The endpoints of a tenant, and what was sent to them. */
export const deliveries = page({
  path: '/tenants/:tenant/deliveries',
  query: ['state', 'before'],
  action: 'webhook deliveries',
  role: 'support',
  title: 'Deliveries',
  input({ params, query }: Asked) {
    const tenantId = parseId('ten', params['tenant'] ?? '')
    const state = DELIVERY_STATES.find((each) => each === query.get('state'))
    const [event = '', endpoint = ''] = (textIn(query, 'before') ?? '').split('.')
    const eventId = parseId('evt', event)
    const endpointId = parseId('we', endpoint)
    const before = eventId && endpointId && { eventId, endpointId }
    return tenantId && { tenantId, state, before, query }
  },
  target: ({ tenantId }) => ({ tenantId }),
  read: async (service, { query: _query, ...wanted }) => ({
    endpoints: await listEndpoints(service, wanted.tenantId),
    page: await listDeliveries(service, { ...wanted, limit: PAGE_ROWS }),
    all: await reportWebhooks(service),
  }),
  tenants: (_data, { tenantId }) => [tenantId],
  draw({ endpoints, page: found, all }, view, { tenantId, state, query }) {
    const { now } = view
    const { next } = found
    return html`<p>Tenant ${tenantOf(tenantId, view)}</p>
<h2>Endpoints</h2>
${tableOf(
  ['Endpoint', 'URL', 'State', 'Send again'],
  endpoints.map((endpoint) => endpointRow(endpoint, view)),
  'None. The tenant polls, or creates one with bonded webhook create.',
)}
<h2>Deliveries</h2>
<form class="filters"><label>State <select name="state"><option value="">all</option>${DELIVERY_STATES.map((each) => html`<option${each === state && html` selected`}>${each}</option>`)}</select></label><button>Filter</button></form>
${tableOf(
  ['Created', 'Event', 'Type', 'Endpoint', 'State', 'Attempts', 'Next attempt'],
  found.deliveries.map((each) => [
    timeOf(each.createdAt, now),
    idOf(each.eventId, `/events/${each.eventId}`),
    html`<code>${each.type}</code>`,
    idOf(each.endpointId),
    deliveryState(each),
    each.attempts,
    each.dueAt === null ? 'none' : timeOf(each.dueAt, now),
  ]),
  next === null
    ? 'None. The service keeps deliveries for 30 days, unless the tenant has another retention.'
    : 'None in the part that was searched. Search on.',
)}
${next && html`<p><a class="button quiet" href="${withMember(query, 'before', `${next.eventId}.${next.endpointId}`)}">Earlier deliveries</a></p>`}
<h2>Deliveries of all tenants</h2>
${warningsOf(all)}
${factsOf([
  ['Waiting', all.waiting],
  ['The oldest is due since', all.oldestDueMs > 0 ? timeOf(now - all.oldestDueMs, now) : 'none'],
  ['Endpoints that fail', all.openBreakers],
])}`
  },
})

/** The state of a delivery. One whose attempt failed does not merely wait. */
export function deliveryState({
  state,
  attempts,
}: Pick<WebhookDelivery, 'state' | 'attempts'>): Html {
  if (state === 'pending') return attempts > 0 ? badge('retrying', 'bad') : badge(state, 'plain')
  return badge(state, state === 'delivered' ? 'good' : 'bad')
}

function endpointRow(endpoint: WebhookEndpoint, view: View): readonly Part[] {
  const { id, tenantId, url } = endpoint
  return [
    idOf(id),
    stored(url),
    endpointState(endpoint, view.now),
    Object.entries(PERIODS).map(([since, text]) => {
      const to = `/tenants/${tenantId}/endpoints/${id}/recover/${since}`
      return html`${actionTo(to, { text, role: 'admin', view })} `
    }),
  ]
}

function endpointState(
  { disabledAt, disabledReason, failures }: WebhookEndpoint,
  now: number,
): Html {
  if (disabledReason === null)
    return failures === 0
      ? badge('works', 'good')
      : html`${badge('fails', 'bad')} ${failures} in a row`
  const why = disabledReason === 'gone' ? 'it answered 410' : `by the ${disabledReason}`
  return html`${badge('disabled', 'bad')} ${why} ${timeOf(disabledAt, now)}`
}

/** Sends again what failed or was held. */
export const recoverDeliveries = action({
  path: '/tenants/:tenant/endpoints/:endpoint/recover/:since',
  action: 'webhook list',
  changes: 'webhook recover',
  role: 'admin',
  title: 'Send these events again?',
  verb: 'Send again',
  input({ params }: Asked) {
    const tenantId = parseId('ten', params['tenant'] ?? '')
    const endpointId = parseId('we', params['endpoint'] ?? '')
    const since = params['since'] ?? ''
    const isKnown = tenantId && endpointId && Object.hasOwn(PERIODS, since)
    return isKnown ? { tenantId, endpointId, since } : undefined
  },
  target: ({ tenantId, endpointId }) => ({ tenantId, endpointId }),
  read: async (service, { tenantId, endpointId }) =>
    foundIn(await listEndpoints(service, tenantId), ({ id }) => id === endpointId, 'endpoint'),
  tenants: (_endpoint, { tenantId }) => [tenantId],
  draw: (endpoint, view, { tenantId, since }) => html`${factsOf([
    ['Endpoint', idOf(endpoint.id)],
    ['Tenant', tenantOf(tenantId, view)],
    ['URL', stored(endpoint.url)],
    ['State', endpointState(endpoint, view.now)],
  ])}
<p>The running service sends to the tenant’s endpoint again every event of the ${PERIODS[since]?.toLowerCase()} that failed, or that was held while the endpoint was disabled, as if each were new. You cannot undo this. Receivers recognize an event that they already have by its id.</p>`,
  run: (service, { endpointId, since }) =>
    recoverEndpoint(service, endpointId, service.clock.now() - parseDuration(since)),
  next: ({ tenantId }) => `/tenants/${tenantId}/deliveries`,
})
