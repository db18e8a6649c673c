import type { WebhookEndpointRecord } from '@bonded/contract'
import { element } from '../view/dom.ts'
import { described, time } from './row.ts'

const HOUR_MS = 60 * 60_000
/** How far back a recovery reaches. The log keeps deliveries for 30 days. */
const SINCE: readonly (readonly [label: string, ms: number])[] = [
  ['the last hour', HOUR_MS],
  ['the last day', 24 * HOUR_MS],
  ['the last 7 days', 7 * 24 * HOUR_MS],
  ['the last 30 days', 30 * 24 * HOUR_MS],
]

/** The endpoints with their state, each with a form that sends again what failed. */
export function drawEndpoints(
  endpoints: readonly WebhookEndpointRecord[],
  recover: (endpointId: string, since: string) => void,
): Node[] {
  return [
    element('h2', {}, 'Endpoints'),
    endpoints.length === 0
      ? element('p', { class: 'muted' }, 'No endpoints.')
      : element(
          'ul',
          { class: 'endpoints' },
          ...endpoints.map((each) => drawEndpoint(each, recover)),
        ),
  ]
}

function drawEndpoint(
  endpoint: WebhookEndpointRecord,
  recover: (endpointId: string, since: string) => void,
): HTMLElement {
  const { endpoint_id, url, events } = endpoint
  const since = element(
    'select',
    { 'aria-label': `Time to recover for ${url}` },
    ...SINCE.map(([label, ms]) => element('option', { value: String(ms) }, label)),
  )
  const send = element('button', { type: 'submit' }, 'Send again what failed in')
  const sentence = described(send, 'Sends every event of that time that failed or was held.')
  const form = element('form', { class: 'recover' }, send, since, sentence)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    recover(endpoint_id, new Date(Date.now() - Number(since.value)).toISOString())
  })
  return element(
    'li',
    {},
    element('p', { class: 'url' }, url),
    element(
      'p',
      { class: 'muted' },
      ...standing(endpoint),
      `Events: ${events?.join(', ') ?? 'all'}`,
    ),
    form,
  )
}

function standing(endpoint: WebhookEndpointRecord): (Node | string)[] {
  const { enabled, disabled_reason, failures, paused_until } = endpoint
  if (!enabled) {
    const why = disabled_reason === 'gone' ? ': it answered 410' : ''
    return [element('span', { class: 'state', 'data-state': 'failed' }, `Disabled${why}`), ' ']
  }
  if (failures === 0)
    return [element('span', { class: 'state', 'data-state': 'delivered' }, 'Healthy'), ' ']
  const paused =
    paused_until !== null && Date.parse(paused_until) > Date.now()
      ? [' paused until ', time(paused_until), ' ']
      : [' ']
  return [
    element(
      'span',
      { class: 'state', 'data-state': 'held' },
      failures === 1 ? '1 failure' : `${failures} failures in a row`,
    ),
    ...paused,
  ]
}
