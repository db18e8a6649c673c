import { PhoneError } from '@bonded/phone'

/** What stops an approval, by what the user can do about it. */
export type ProblemKind =
  | 'link_incomplete'
  | 'qr_code_expired'
  | 'claimed_by_other_phone'
  | 'session_over'
  | 'phone_not_accepted'
  | 'phone_too_new'
  | 'phone_unknown'
  | 'phone_unsupported'
  | 'screen_lock_missing'
  | 'proof_unsupported'
  | 'not_verified'
  | 'offline'
  | 'busy'
  | 'wrong_service'
  | 'unexpected'

const OF_REASON: Readonly<Record<string, ProblemKind>> = {
  challenge_expired: 'qr_code_expired',
  nonce_mismatch: 'qr_code_expired',
  session_not_found: 'qr_code_expired',
  session_claimed: 'claimed_by_other_phone',
  session_not_live: 'session_over',
  policy_not_met: 'session_over',
  device_not_usable: 'phone_not_accepted',
  key_format_not_accepted: 'phone_not_accepted',
  key_not_attested: 'phone_not_accepted',
  key_too_new: 'phone_too_new',
  browser_key_required: 'proof_unsupported',
  browser_key_invalid: 'proof_unsupported',
  format_not_enabled: 'phone_not_accepted',
  attestation_invalid: 'phone_not_accepted',
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

/** Classifies a failure. An unknown one is `unexpected`: the app invents no explanation. */
export function problemOf(failure: unknown): ProblemKind {
  if (!(failure instanceof PhoneError)) return 'unexpected'
  const { code, reason = '', status = 0 } = failure
  switch (code) {
    case 'handoff_unreadable':
      return 'link_incomplete'
    case 'origin_not_usable':
      return 'wrong_service'
    case 'unreachable':
      return 'offline'
    case 'step_up_unsupported':
      return 'proof_unsupported'
    case 'not_awaiting':
      return 'session_over'
    case 'user_verification_failed':
      return 'not_verified'
    case 'authenticator_unusable':
      if (reason === 'key_missing') return 'phone_unknown'
      return reason === 'no_screen_lock' ? 'screen_lock_missing' : 'phone_unsupported'
    case 'counter_exhausted':
      return 'phone_unknown'
    case 'refused': {
      const known = Object.hasOwn(OF_REASON, reason) ? OF_REASON[reason] : undefined
      return known ?? (status >= 500 ? 'busy' : 'unexpected')
    }
    case 'answer_unreadable':
    case 'cancelled':
      return 'unexpected'
  }
}
