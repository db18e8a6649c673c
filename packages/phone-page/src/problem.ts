import { isRejection, PhoneError } from '@bonded/phone'

/** What stops an approval, by what the user can do about it. */
export type ProblemKind =
  | 'link_incomplete'
  | 'qr_code_expired'
  | 'claimed_by_other_phone'
  | 'session_over'
  | 'phone_not_accepted'
  | 'cannot_attest'
  | 'app_only'
  | 'phone_too_new'
  | 'phone_unknown'
  | 'passkey_missing'
  | 'passkey_unsupported'
  | 'open_in_browser'
  | 'start_again'
  | 'storage_unavailable'
  | 'app_required'
  | 'offline'
  | 'busy'
  | 'wrong_service'
  | 'unexpected'

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
export function problemOf(failure: unknown): ProblemKind {
  if (!(failure instanceof PhoneError)) {
    const isStorage = failure instanceof DOMException
    return isStorage ? 'storage_unavailable' : 'unexpected'
  }
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
    case 'user_verification_failed':
      return 'passkey_missing'
    case 'authenticator_unusable':
      return 'passkey_unsupported'
    case 'refused': {
      const reason = failure.reason ?? ''
      const known = Object.hasOwn(OF_REASON, reason) ? OF_REASON[reason] : undefined
      return known ?? ((failure.status ?? 0) >= 500 ? 'busy' : 'unexpected')
    }
    case 'answer_unreadable':
    case 'counter_exhausted':
    case 'cancelled':
      return 'unexpected'
  }
}

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
  const isDenied = failure instanceof PhoneError && failure.code === 'user_verification_failed'
  return isDenied || isRejection(failure, 'assertion_invalid')
}
