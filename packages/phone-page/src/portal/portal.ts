import type { WebhookDeliveryList, WebhookEndpointRecord } from '@bonded/contract'
import { element } from '../view/dom.ts'
import { drawDetails } from './details.ts'
import { drawEndpoints } from './endpoints.ts'
import { drawFilter } from './filter.ts'
import { described, drawRow } from './row.ts'
import { verbatim } from '../view/verbatim.ts'
import { type Filter, PortalFailure, type PortalService } from './service.ts'

type Delivery = WebhookDeliveryList['deliveries'][number]

/** How many pages one click reads: with filters, a page can be empty although others follow. */
const MAX_PAGES = 10
const NO_FILTER: Filter = { state: '', type: '', endpoint_id: '' }

/** Shows the deliveries and endpoints of the tenant whose token the service has. */
// oxlint-disable-next-line max-lines-per-function -- short steps over the same state
export function startPortal(root: HTMLElement, service: PortalService): { reload(): void } {
  let filter = NO_FILTER
  let endpoints: readonly WebhookEndpointRecord[] = []
  let next: string | null = null
  const status = element('p', { role: 'status', class: 'status' })
  const endpointList = element('section', { 'aria-label': 'Endpoints' })
  const filters = element('form', { class: 'filter', 'aria-label': 'Filter' })
  const list = element('ol', { class: 'deliveries', 'aria-label': 'Deliveries' })
  const [, showsMore] = explained('Load more', 'Shows older deliveries below these.', () =>
    run(() => load(next)),
  )
  showsMore.hidden = true
  filters.addEventListener('submit', (event) => event.preventDefault())

  const run = async (work: () => Promise<string | void>): Promise<void> => {
    status.textContent = 'Loading …'
    try {
      status.textContent = (await work()) ?? ''
    } catch (failure) {
      if (!(failure instanceof PortalFailure)) throw failure
      status.textContent = failure.message
      // What is shown ends with the link, so that nothing stays on a screen that was left.
      if (failure.isFinal) root.replaceChildren(heading(status))
    }
  }
  const load = async (before: string | null): Promise<void> => {
    if (before === null) list.replaceChildren()
    next = before
    for (let page = 0; page < MAX_PAGES; page++) {
      const found = await service.deliveries(filter, next)
      list.append(...found.deliveries.map(rowOf))
      next = found.next
      if (next === null || found.deliveries.length > 0) break
    }
    showsMore.hidden = next === null
    if (list.childElementCount === 0)
      list.append(
        element(
          'li',
          { class: 'empty' },
          next === null ? 'No deliveries.' : 'No deliveries so far. Load more to search on.',
        ),
      )
  }
  const rowOf = (delivery: Delivery): HTMLElement => {
    const target = endpoints.find(({ endpoint_id }) => endpoint_id === delivery.endpoint_id)
    const row = drawRow(delivery, target?.url ?? delivery.endpoint_id)
    row.details.addEventListener('toggle', () => {
      if (row.details.open) void run(() => show(row.content, delivery))
    })
    return row.item
  }
  const show = async (content: HTMLElement, { event_id, endpoint_id }: Delivery): Promise<void> => {
    const found = (await service.event(event_id)).find((each) => each.endpoint_id === endpoint_id)
    if (found === undefined) return content.replaceChildren('This delivery was deleted.')
    const [, retry] = explained(
      'Send again',
      'Sends this event to this endpoint once more, with the same id.',
      () =>
        run(async () => {
          await service.retry(event_id, endpoint_id)
          return 'The event is being sent again. Refresh to see the result.'
        }),
    )
    content.replaceChildren(...drawDetails(found), retry)
  }
  const reload = async (): Promise<void> => {
    const listed = await service.endpoints()
    endpoints = listed.endpoints
    const tenant = element('bdi', {}, ...verbatim(listed.tenant_name ?? ''))
    root.replaceChildren(
      heading(status, refresh),
      element('p', { class: 'about muted' }, tenant, ` · Times are in ${zone()}.`),
      endpointList,
      filters,
      list,
      showsMore,
    )
    const recover = (endpointId: string, since: string) => {
      void run(async () => {
        const count = await service.recover(endpointId, since)
        return count === 0 ? 'No event failed or was held in that time.' : `Sending ${count} again.`
      })
    }
    endpointList.replaceChildren(...drawEndpoints(endpoints, recover))
    const choose = (chosen: Filter) => {
      filter = chosen
      void run(() => load(null))
    }
    filters.replaceChildren(...drawFilter(filter, endpoints, choose))
    await load(null)
  }
  const [, refresh] = explained('Refresh', 'Loads the endpoints and deliveries again.', () =>
    run(reload),
  )
  root.replaceChildren(heading(status, refresh))
  return { reload: () => void run(reload) }
}

function heading(...actions: HTMLElement[]): HTMLElement {
  return element('header', {}, element('h1', { tabindex: '-1' }, 'Webhook deliveries'), ...actions)
}

/** A button with a sentence that says what it does. */
function explained(
  text: string,
  sentence: string,
  act: () => unknown,
): [button: HTMLButtonElement, box: HTMLElement] {
  const drawn = element('button', { type: 'button' }, text)
  drawn.addEventListener('click', () => void act())
  return [drawn, element('div', { class: 'act' }, drawn, described(drawn, sentence))]
}

/** The time zone of the reader, in which all times are shown. */
function zone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return timeZone === 'UTC' ? 'UTC' : `your time zone, ${timeZone}`
}
