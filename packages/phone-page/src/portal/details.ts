import type { WebhookEventLog } from '@bonded/contract'
import { element } from '../view/dom.ts'
import { time } from './row.ts'

type Delivery = WebhookEventLog['deliveries'][number]

/** Why an attempt got no response, in words. */
const ERRORS: Readonly<Record<string, string>> = {
  address_rejected: 'The address is not public',
  name_not_found: 'The name was not found',
  not_reachable: 'The host was not reachable',
  intermediate_missing: 'The server sends its certificate without the intermediate one',
  certificate_expired: 'The certificate has expired',
  certificate_of_other_name: 'The certificate is of another name',
  certificate_untrusted: 'The certificate is not of a public authority',
  client_certificate_required: 'The server asks for a client certificate',
  tls_failed: 'TLS failed',
  timed_out: 'No response within 15 seconds',
  closed_early: 'The connection ended early',
  service_failed: 'The service could not open a connection',
  secret_unavailable: 'The secret could not be read',
}

/** The payload and every attempt of a delivery. All of it is text. */
export function drawDetails({ event_id, payload, log, next_attempt_at }: Delivery): Node[] {
  return [
    element('p', {}, element('code', {}, event_id)),
    ...(next_attempt_at === null
      ? []
      : [element('p', {}, 'Next attempt: ', time(next_attempt_at))]),
    element('h3', {}, 'Payload'),
    element('pre', { tabindex: '0', 'aria-label': 'Payload' }, indented(payload)),
    element('h3', {}, 'Attempts'),
    log.length === 0
      ? element('p', { class: 'muted' }, 'No attempt yet.')
      : element('ol', { class: 'attempts' }, ...log.map(drawAttempt)),
  ]
}

function drawAttempt({ at, ms, status, body, error }: Delivery['log'][number]): HTMLElement {
  const isRedirect = status !== null && status >= 300 && status < 400
  const answered = `Status ${status}${isRedirect ? ': redirects are not followed' : ''}`
  const result = status === null ? (ERRORS[error ?? ''] ?? String(error)) : answered
  return element(
    'li',
    {},
    element('p', {}, element('strong', {}, result), ` after ${ms} ms, `, time(at)),
    ...(body ? [element('pre', { tabindex: '0', 'aria-label': 'Response' }, body)] : []),
  )
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
