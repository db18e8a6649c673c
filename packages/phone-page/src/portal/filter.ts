import { DELIVERY_STATES, EVENT_TYPES, type WebhookEndpointRecord } from '@bonded/contract'
import { element } from '../view/dom.ts'
import type { Filter } from './service.ts'

/** Three lists that limit the deliveries. */
export function drawFilter(
  filter: Filter,
  endpoints: readonly WebhookEndpointRecord[],
  choose: (filter: Filter) => void,
): Node[] {
  let chosen = filter
  const list = (
    name: keyof Filter,
    label: string,
    options: readonly (readonly [string, string])[],
  ) => {
    const select = element(
      'select',
      {},
      ...[['', 'All'] as const, ...options].map(([value, text]) =>
        element('option', { value }, text),
      ),
    )
    select.value = filter[name]
    select.addEventListener('change', () => {
      chosen = { ...chosen, [name]: select.value }
      choose(chosen)
    })
    return element('label', {}, label, select)
  }
  return [
    list(
      'state',
      'State',
      DELIVERY_STATES.map((state) => [state, state]),
    ),
    list(
      'type',
      'Event',
      EVENT_TYPES.map((type) => [type, type]),
    ),
    list(
      'endpoint_id',
      'Endpoint',
      endpoints.map(({ endpoint_id, url }) => [endpoint_id, url]),
    ),
  ]
}
