import { promptFailureOf } from '@bonded/contract'
import { isRejection, PhoneError } from '@bonded/phone'
import { StorageFailure } from './device-store.ts'
import {
  AFTER_PROMPT,
  type AfterPrompt,
  FIRST_ASKS,
  type Moment,
  type ProblemKind,
} from './failures.ts'

/** A proof that this browser cannot give. */
export type Need = 'passport' | 'carrier' | 'motion' | 'other'

const OF_REASON: Readonly<Record<string, ProblemKind>> = {
  challenge_expired: 'qr_code_expired',
  nonce_mismatch: 'qr_code_expired',
  session_not_found: 'qr_code_expired',
  session_claimed: 'claimed_by_other_phone',
  session_not_live: 'session_over',
  device_not_usable: 'phone_not_accepted',
  format_not_enabled: 'phone_not_accepted',
  attestation_invalid: 'phone_not_accepted',
  key_format_not_accepted: 'app_only',
  key_not_attested: 'cannot_attest',
  key_too_new: 'phone_too_new',
  policy_not_met: 'session_over',
  credential_invalid: 'phone_unknown',
  credential_missing: 'phone_unknown',
  device_not_found: 'phone_unknown',
  assertion_invalid: 'phone_unknown',
  request_timeout: 'offline',
  rate_limited: 'busy',
  overloaded: 'busy',
  operation_timeout: 'busy',
  store_unavailable: 'busy',
  not_ready: 'busy',
}

/** Classifies a failure. An unknown one is `unexpected`: the page invents no explanation. */
export function problemOf(failure: unknown, moment: Moment = 'open'): ProblemKind {
  if (failure instanceof StorageFailure) return 'storage_unavailable'
  if (!(failure instanceof PhoneError)) return 'unexpected'
  const after = afterPrompt(failure, moment)
  if (after !== undefined && after !== 'ask') return after
  switch (failure.code) {
    case 'handoff_unreadable':
      return 'link_incomplete'
    case 'origin_not_usable':
      return 'wrong_service'
    case 'unreachable':
      return 'offline'
    case 'step_up_unsupported':
      return 'app_required'
    case 'not_awaiting':
      return 'session_over'
    case 'refused': {
      const reason = failure.reason ?? ''
      const known = Object.hasOwn(OF_REASON, reason) ? OF_REASON[reason] : undefined
      return known ?? ((failure.status ?? 0) >= 500 ? 'busy' : 'unexpected')
    }
    case 'user_verification_failed':
    case 'authenticator_unusable':
    case 'answer_unreadable':
    case 'counter_exhausted':
    case 'cancelled':
      return 'unexpected'
  }
}

/** What follows a failed prompt of the browser; undefined after any other failure. */
export function afterPrompt(
  failure: unknown,
  moment: Moment,
  isFirst = false,
): AfterPrompt | undefined {
  if (!(failure instanceof PhoneError) || !PROMPT_CODES.has(failure.code)) return undefined
  const failed = promptFailureOf(failure.reason ?? '')
  return isFirst && FIRST_ASKS[moment]?.includes(failed) ? 'ask' : AFTER_PROMPT[moment][failed]
}

const PROMPT_CODES: ReadonlySet<string> = new Set([
  'user_verification_failed',
  'authenticator_unusable',
])
const NEED_OF_KIND: Readonly<Record<string, Need>> = {
  passport_chip: 'passport',
  carrier: 'carrier',
  sensor_continuity: 'motion',
}

/** The proof whose absence stopped an approval; null where another problem did. */
export function needOf(failure: unknown): Need | null {
  if (!(failure instanceof PhoneError) || failure.code !== 'step_up_unsupported') return null
  const kind = failure.reason ?? ''
  return (Object.hasOwn(NEED_OF_KIND, kind) ? NEED_OF_KIND[kind] : undefined) ?? 'other'
}

/** Whether the user confirmed no passkey, or none that the service accepts. Browsers hide which. */
export function isNotRecovered(failure: unknown): boolean {
  return afterPrompt(failure, 'recover') === 'ask' || isRejection(failure, 'assertion_invalid')
}
