/** What each call of a phone about a session can be rejected with. */
export const PHONE_REJECTIONS = [
  'session_not_live',
  'session_claimed',
  'nonce_mismatch',
  'challenge_expired',
  'device_not_usable',
  'key_format_not_accepted',
  'key_not_attested',
  'key_too_new',
  'browser_key_required',
] as const

/** The same, for a call that asks for the approval: a suspended tenant gets none. */
export const APPROVAL_REJECTIONS = [...PHONE_REJECTIONS, 'tenant_suspended'] as const

/** What a proof of the browser can be rejected with. */
export const BROWSER_REJECTIONS = [
  'session_not_found',
  'session_not_live',
  'tenant_suspended',
  'browser_proof_invalid',
] as const

/** What a registration can be rejected with. */
export const REGISTRATION_REJECTIONS = [
  'challenge_not_usable',
  'format_not_enabled',
  'public_key_invalid',
  'attestation_invalid',
  'browser_key_invalid',
  'overloaded',
  'key_already_registered',
  'key_approval_required',
  'approving_key_too_weak',
  'key_too_new',
  'too_many_keys',
  'issued_at_out_of_range',
  'assertion_invalid',
  'device_not_usable',
  'credential_missing',
  'credential_invalid',
  'origin_not_allowed',
] as const
