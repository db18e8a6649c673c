import { bare, type ExchangeResult } from '@bonded/contract'
import type { UnavailableReason } from '../outcome.ts'

type Rejection = Extract<ExchangeResult, { kind: 'rejected' }>

/** The service's reasons that a page's developer can act on. Any other one is `service_refused`. */
const REASONS = bare<Readonly<Record<string, UnavailableReason | undefined>>>({
  credential_missing: 'key_invalid',
  credential_invalid: 'key_invalid',
  credential_not_accepted: 'key_invalid',
  origin_not_allowed: 'origin_not_allowed',
  key_of_another_tenant: 'key_of_another_tenant',
  workflow_not_enabled: 'key_out_of_scope',
  action_not_enabled: 'key_out_of_scope',
})

const ADVICE = bare<Readonly<Record<string, string | undefined>>>({
  key_invalid:
    'The service does not know this publishable key, or it is revoked. See `bonded key list`.',
  origin_not_allowed: 'The tenant of this key lacks this origin. An operator adds it.',
  key_of_another_tenant: 'The session is of another tenant. Use its keys.',
  key_out_of_scope: 'The scope of this key lacks the workflow or the action of the session.',
  session_not_found: 'The service does not know this session, or the watch token is wrong.',
})

/** The console messages: what the developer has to change. The user reads a calm sentence only. */
export function report<Reason extends string>(reason: Reason, ...details: unknown[]): Reason {
  const advice = ADVICE[reason] ?? 'The service rejected a request.'
  console.error(`Pulse: ${reason}. ${advice}`, location.origin, ...details)
  return reason
}

/** Reports why the service rejected a request of this page. */
export function reportRejection({ status, error }: Rejection): UnavailableReason {
  const reason = REASONS[error['reason'] as string]
  // The service's own reason says more to a developer than that it rejected something.
  report(reason ?? (error['reason'] as string), status, error)
  return reason ?? 'service_refused'
}
