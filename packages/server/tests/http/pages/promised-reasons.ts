import type { ErrorCode, Reason } from '@bonded/contract'
import type { Retry } from '../../../src/http/pages/reasons/guide.ts'

/** What clients rely on in a rejection: the status, the code, and whether they may retry. */
type Promised = readonly [status: number, code: ErrorCode, retry: Retry]

const INVALID = [400, 'invalid_request', 'corrected'] as const
const IN_VAIN = [400, 'invalid_request', 'no'] as const
const UNAUTHORIZED = [401, 'unauthorized', 'corrected'] as const
const FORBIDDEN = [403, 'forbidden', 'corrected'] as const
const NOT_FOUND = [404, 'not_found', 'no'] as const
const LIMITED = [429, 'rate_limited', 'unchanged'] as const
const UNAVAILABLE = [503, 'unavailable', 'unchanged'] as const

/**
 * Every reason with what section 8 of the protocol promises about it. It repeats the code on
 * purpose, so that a reason that moves to another group is noticed.
 */
export const PROMISED_REASONS: Readonly<Record<Reason, Promised>> = {
  malformed_request: INVALID,
  headers_too_large: INVALID,
  // The connection was slow. The same request may arrive in time.
  request_timeout: [400, 'invalid_request', 'unchanged'],
  expectation_unsupported: INVALID,
  unknown_endpoint: [404, 'invalid_request', 'corrected'],
  method_not_allowed: [405, 'invalid_request', 'corrected'],
  unsupported_media_type: [415, 'invalid_request', 'corrected'],
  body_too_large: [413, 'invalid_request', 'corrected'],
  missing_body: INVALID,
  unexpected_body: INVALID,
  invalid_utf8: INVALID,
  malformed_json: INVALID,
  duplicate_member: INVALID,
  nesting_too_deep: INVALID,
  lone_surrogate: INVALID,
  null_character: INVALID,
  unknown_member: INVALID,
  missing_member: INVALID,
  invalid_member: INVALID,
  invalid_parameter: INVALID,
  duplicate_parameter: INVALID,
  invalid_header: INVALID,
  workflow_unknown: INVALID,
  action_unknown: INVALID,
  workflow_required: INVALID,
  action_required: INVALID,
  subject_required: INVALID,
  quorum_required: INVALID,
  requester_required: INVALID,
  subject_has_no_phone: IN_VAIN,
  // Both have `Retry-After`, the time after which the same create succeeds (protocol 15).
  inbox_full: LIMITED,
  inbox_paused: [409, 'invalid_request', 'unchanged'],
  idempotency_mismatch: INVALID,
  session_not_live: IN_VAIN,
  session_claimed: IN_VAIN,
  nonce_mismatch: INVALID,
  challenge_expired: INVALID,
  device_not_usable: IN_VAIN,
  key_not_attested: IN_VAIN,
  key_format_not_accepted: IN_VAIN,
  key_too_new: IN_VAIN,
  browser_key_required: INVALID,
  browser_key_invalid: INVALID,
  browser_proof_invalid: INVALID,
  issued_at_out_of_range: INVALID,
  evidence_expired: INVALID,
  policy_not_met: IN_VAIN,
  assertion_invalid: INVALID,
  challenge_not_usable: INVALID,
  format_not_enabled: IN_VAIN,
  public_key_invalid: INVALID,
  attestation_invalid: INVALID,
  key_already_registered: IN_VAIN,
  key_approval_required: INVALID,
  approving_key_too_weak: IN_VAIN,
  too_many_keys: IN_VAIN,
  completion_secret_missing: INVALID,
  completion_secret_mismatch: INVALID,
  session_not_bonded: IN_VAIN,
  browser_secret_mismatch: INVALID,
  receipts_disabled: IN_VAIN,
  bonded_without_receipt: IN_VAIN,
  context_mismatch: IN_VAIN,
  webhook_url_invalid: INVALID,
  too_many_webhook_endpoints: IN_VAIN,
  credential_missing: UNAUTHORIZED,
  credential_invalid: UNAUTHORIZED,
  device_token_expired: UNAUTHORIZED,
  credential_not_accepted: UNAUTHORIZED,
  origin_not_allowed: FORBIDDEN,
  key_of_another_tenant: FORBIDDEN,
  workflow_not_enabled: FORBIDDEN,
  action_not_enabled: FORBIDDEN,
  // Nothing in the request can change it.
  tenant_suspended: [403, 'forbidden', 'no'],
  unscoped_credential_required: [403, 'forbidden', 'no'],
  session_not_found: NOT_FOUND,
  device_not_found: NOT_FOUND,
  subject_not_found: NOT_FOUND,
  webhook_endpoint_not_found: NOT_FOUND,
  webhook_event_not_found: NOT_FOUND,
  page_not_found: NOT_FOUND,
  rate_limited: LIMITED,
  internal_error: [500, 'internal_error', 'unchanged'],
  store_unavailable: UNAVAILABLE,
  not_ready: UNAVAILABLE,
  signer_unavailable: UNAVAILABLE,
  overloaded: UNAVAILABLE,
  // It may have taken effect, so only a call that can be repeated is sent again.
  operation_timeout: [503, 'unavailable', 'repeatable'],
}

/** How the page answers whether a caller may retry. */
export const PROMISED_RETRIES: Readonly<Record<Retry, string>> = {
  unchanged:
    'yes, unchanged, after the time in <code>Retry-After</code> where the response has one',
  repeatable: 'as after a lost response, because the operation may have taken effect',
  corrected: 'only with a corrected request',
  no: 'no',
}

/** The headers by which a client decides when, and with which credential, it may retry. */
export const PROMISED_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  409: ['retry-after'],
  429: ['retry-after'],
  503: ['retry-after'],
}
