import { CONSEQUENCES } from '@bonded/cli/program/consequences'
import { type EventId, parseId } from '@bonded/contract'
import { succeeded } from '@bonded/core/domain/webhooks'
import { inspectEvent, retryEvent } from '@bonded/core/operations/admin/webhooks'
import type { WebhookDelivery } from '@bonded/core/ports/tables/webhook-table'
import { foundIn } from '../fields.ts'
import { type Html, html } from '../html.ts'
import { actionTo, badge, factsOf, idOf, linesOf, stored, tableOf, timeOf } from '../layout.ts'
import { action, type Asked, page } from '../page.ts'
import { deliveryState } from './deliveries.ts'

const eventIn = ({ params }: Asked) => parseId('evt', params['event'] ?? '')

/** An event, what it says, and the attempts to deliver it to each endpoint. */
export const event = page({
  path: '/events/:event',
  action: 'webhook delivery',
  role: 'support',
  title: 'Event',
  input: eventIn,
  target: (eventId: EventId) => ({ eventId }),
  read: inspectEvent,
  draw(found, view, id) {
    const drawn = found.map((delivery) => {
      const { endpointId, payload, history } = delivery
      const retry = `/events/${id}/retry/${endpointId}`
      return html`<h2>To ${endpointId}</h2>
${drawDelivery(delivery, view.now)}
<p>${actionTo(retry, { text: 'Send it again', role: 'support', view })}</p>
${tableOf(
  ['Time', 'Result', 'Took', 'Answer'],
  history.map((attempt) => [
    timeOf(attempt.at, view.now),
    badge(
      'status' in attempt ? String(attempt.status) : attempt.error,
      succeeded(attempt) ? 'good' : 'bad',
    ),
    `${attempt.ms} ms`,
    'body' in attempt && stored(attempt.body),
  ]),
  'No attempt yet. The running service sends it.',
)}
<details><summary>What is sent</summary>${linesOf(JSON.stringify(JSON.parse(payload), null, 2))}</details>`
    })
    return html`<p>${idOf(id)}</p>${drawn}`
  },
})

function drawDelivery(delivery: WebhookDelivery, now: number): Html {
  const { tenantId, type, attempts, createdAt, dueAt } = delivery
  return factsOf([
    ['Type', html`<code>${type}</code>`],
    ['State', deliveryState(delivery)],
    [
      'Tenant',
      idOf(tenantId, tenantId === 'operator' ? undefined : `/tenants/${tenantId}/deliveries`),
    ],
    ['Attempts', attempts],
    ['Created', timeOf(createdAt, now)],
    ['Next attempt', dueAt === null ? 'none' : timeOf(dueAt, now)],
  ])
}

/** Sends an event again to one endpoint. */
export const retryDelivery = action({
  path: '/events/:event/retry/:endpoint',
  action: 'webhook delivery',
  changes: 'webhook retry',
  role: 'support',
  title: 'Send this event again?',
  verb: 'Send it again',
  input(asked: Asked) {
    const eventId = eventIn(asked)
    const endpointId = parseId('we', asked.params['endpoint'] ?? '')
    return eventId && endpointId && { eventId, endpointId }
  },
  target: (named) => named,
  read: async (service, { eventId, endpointId }) =>
    foundIn(
      await inspectEvent(service, eventId),
      (delivery) => delivery.endpointId === endpointId,
      'endpoint',
    ),
  draw: (delivery, { now }, { endpointId }) => html`${factsOf([['Endpoint', idOf(endpointId)]])}
${drawDelivery(delivery, now)}
<p>${CONSEQUENCES['webhook retry']}</p>`,
  run: (service, { eventId, endpointId }) => retryEvent(service, eventId, endpointId),
  next: ({ eventId }) => `/events/${eventId}`,
})
