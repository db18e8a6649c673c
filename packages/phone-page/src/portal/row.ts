import type { WebhookDeliveryList } from '@bonded/contract'
import { element } from '../view/dom.ts'

/** The words of each state. */
const STATES: Readonly<Record<string, string>> = {
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  held: 'Held',
}

/** A delivery as one line that opens. */
export function drawRow(delivery: WebhookDeliveryList['deliveries'][number], target: string) {
  const { type, state, attempts, created_at } = delivery
  const content = element('div', { class: 'details' })
  // After an attempt that failed, the receiver can look for its cause.
  const words = state === 'pending' && attempts > 0 ? 'Retrying' : (STATES[state] ?? state)
  const details = element(
    'details',
    {},
    element(
      'summary',
      {},
      element('span', { class: 'state', 'data-state': state }, words),
      element('code', {}, type),
      element('span', { class: 'target' }, target),
      element('span', { class: 'muted' }, attempts === 1 ? '1 attempt' : `${attempts} attempts`),
      time(created_at),
    ),
    content,
  )
  return { item: element('li', {}, details), details, content }
}

let descriptions = 0

/** A sentence that says what a button does. A screen reader says it after the button's name. */
export function described(button: HTMLElement, sentence: string): HTMLElement {
  const id = `description-${++descriptions}`
  button.setAttribute('aria-describedby', id)
  return element('p', { class: 'muted', id }, sentence)
}

/** A time in the reader's own time zone, with the exact one in its attribute. */
export function time(text: string): HTMLElement {
  const written = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })
  return element('time', { datetime: text, class: 'muted' }, written.format(new Date(text)))
}
