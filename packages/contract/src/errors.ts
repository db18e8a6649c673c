import { type Static, Type } from './schemas/type.ts'
import { closed, word } from './schemas/primitives.ts'
import { UNREADINESS, type Unreadiness } from './schemas/service.ts'

/** What an integrator's code branches on. */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

interface ReasonEntry {
  readonly code: ErrorCode
  /** What the caller reads. It says what to do and tells no secret. */
  readonly message: string
}

/**
 * Every reason a refusal can carry, with the code it belongs to. Closed: a reason that is not here
 * cannot be answered. Each has a page in docs/reference/reasons.
 */
export const REASONS = {
  // The request as bytes
  malformed_request: {
    code: 'invalid_request',
    message: 'The request is not HTTP that this service reads.',
  },
  headers_too_large: { code: 'invalid_request', message: 'The request headers are too large.' },
  request_timeout: { code: 'invalid_request', message: 'The request did not arrive in time.' },
  expectation_unsupported: {
    code: 'invalid_request',
    message: 'The Expect header asks for something this service does not do.',
  },
  unknown_endpoint: {
    code: 'invalid_request',
    message: 'There is no such endpoint. Check the path and the base URL.',
  },
  method_not_allowed: {
    code: 'invalid_request',
    message: 'This endpoint does not take this method. See the Allow header.',
  },
  unsupported_media_type: {
    code: 'invalid_request',
    message: 'Send the body as application/json in UTF-8.',
  },
  body_too_large: {
    code: 'invalid_request',
    message: 'The body is larger than this endpoint takes.',
  },
  missing_body: { code: 'invalid_request', message: 'This endpoint needs a JSON body.' },
  unexpected_body: {
    code: 'invalid_request',
    message: 'This endpoint takes no body. Send none, or an empty object.',
  },
  invalid_utf8: { code: 'invalid_request', message: 'The body is not valid UTF-8.' },
  malformed_json: { code: 'invalid_request', message: 'The body is not valid JSON.' },
  duplicate_member: { code: 'invalid_request', message: 'A member of the body is named twice.' },
  nesting_too_deep: {
    code: 'invalid_request',
    message: 'The body is nested deeper than 16 levels.',
  },
  lone_surrogate: {
    code: 'invalid_request',
    message: 'A string of the body is not well-formed Unicode.',
  },
  unknown_member: {
    code: 'invalid_request',
    message: 'The body has a member that this endpoint does not know.',
  },
  missing_member: { code: 'invalid_request', message: 'The body lacks a required member.' },
  invalid_member: {
    code: 'invalid_request',
    message: 'A member of the body has a value that this endpoint does not take.',
  },
  invalid_parameter: {
    code: 'invalid_request',
    message: 'A query parameter has a value that this endpoint does not take.',
  },
  duplicate_parameter: { code: 'invalid_request', message: 'A query parameter is given twice.' },
  invalid_header: {
    code: 'invalid_request',
    message: 'A header has a value that this endpoint does not take.',
  },
  // Creating
  workflow_unknown: { code: 'invalid_request', message: 'The tenant has no such workflow.' },
  action_unknown: { code: 'invalid_request', message: 'The workflow has no such action.' },
  workflow_required: {
    code: 'invalid_request',
    message: 'The credential allows several workflows. Name one.',
  },
  action_required: {
    code: 'invalid_request',
    message: 'The workflow has several actions. Name one.',
  },
  subject_required: {
    code: 'invalid_request',
    message: 'This workflow is for known customers. Send subject_ref.',
  },
  idempotency_mismatch: {
    code: 'invalid_request',
    message: 'This Idempotency-Key was used with another body.',
  },
  // Phone
  session_not_live: {
    code: 'invalid_request',
    message: 'There is no session waiting for this. Scan the code again.',
  },
  session_claimed: { code: 'invalid_request', message: 'Another phone has taken this session.' },
  nonce_mismatch: { code: 'invalid_request', message: 'The nonce is not one of this session’s.' },
  challenge_expired: {
    code: 'invalid_request',
    message: 'The code shown has been replaced. Scan the new one.',
  },
  device_not_usable: {
    code: 'invalid_request',
    message: 'This device cannot be used for this session.',
  },
  issued_at_out_of_range: {
    code: 'invalid_request',
    message: 'The time in issued_at is too far from the service’s time. Take it from server_time.',
  },
  evidence_expired: {
    code: 'invalid_request',
    message: 'The evidence is out of date. Fetch it anew.',
  },
  policy_not_met: {
    code: 'invalid_request',
    message: 'The proofs do not meet what this action asks for.',
  },
  assertion_invalid: { code: 'invalid_request', message: 'The assertion does not verify.' },
  challenge_not_usable: {
    code: 'invalid_request',
    message: 'The registration challenge is unknown, used or out of date. Ask for a new one.',
  },
  format_not_enabled: {
    code: 'invalid_request',
    message: 'This service takes no keys of this format.',
  },
  public_key_invalid: {
    code: 'invalid_request',
    message: 'The public key is not a P-256 key in SPKI form.',
  },
  attestation_invalid: {
    code: 'invalid_request',
    message: 'The attestation of the key does not verify.',
  },
  key_already_registered: {
    code: 'invalid_request',
    message: 'This key belongs to a device already. Make a new key.',
  },
  // Completing
  completion_secret_missing: {
    code: 'invalid_request',
    message: 'Send the completion secret in X-Bond-Completion-Secret.',
  },
  completion_secret_mismatch: {
    code: 'invalid_request',
    message: 'The completion secret is not this session’s.',
  },
  session_not_bonded: {
    code: 'invalid_request',
    message: 'Only a bonded session can be completed.',
  },
  context_mismatch: {
    code: 'invalid_request',
    message: 'The context digest is not the one the phone approved.',
  },
  // Credentials
  credential_missing: {
    code: 'unauthorized',
    message: 'Send a credential as Authorization: Bearer.',
  },
  credential_invalid: { code: 'unauthorized', message: 'The credential is not valid.' },
  credential_not_accepted: {
    code: 'unauthorized',
    message: 'This kind of credential is not accepted here.',
  },
  origin_not_allowed: {
    code: 'forbidden',
    message: 'This origin is not enabled for the credential.',
  },
  key_of_another_tenant: {
    code: 'forbidden',
    message: 'The publishable key is not one of this tenant’s.',
  },
  workflow_not_enabled: {
    code: 'forbidden',
    message: 'The workflow is not enabled for this credential.',
  },
  action_not_enabled: {
    code: 'forbidden',
    message: 'The action is not enabled for this credential.',
  },
  // What is not there
  session_not_found: { code: 'not_found', message: 'There is no such session here.' },
  device_not_found: { code: 'not_found', message: 'There is no such device here.' },
  page_not_found: { code: 'not_found', message: 'There is nothing here.' },
  // The service itself
  rate_limited: {
    code: 'rate_limited',
    message: 'Too many requests. Wait as long as Retry-After says.',
  },
  internal_error: {
    code: 'internal_error',
    message: 'Something failed on our side. The request id helps us find it.',
  },
  store_unavailable: {
    code: 'unavailable',
    message: 'The service cannot write just now. Nothing was changed. Try again.',
  },
  not_ready: {
    code: 'unavailable',
    message: 'The service cannot do its work just now. What keeps it from it stands in unready.',
  },
  overloaded: { code: 'unavailable', message: 'The service is busy. Try again.' },
} as const satisfies Record<string, ReasonEntry>

/** A reason of the closed list. */
export type Reason = keyof typeof REASONS

export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]]

/** The one shape of every error answer. */
export const ErrorResponse = closed({
  error: closed({
    code: word(ERROR_CODES),
    message: Type.String(),
    requestId: Type.String(),
    reason: Type.Optional(word(REASON_NAMES)),
    param: Type.Optional(Type.String({ description: 'The member, parameter or header at fault.' })),
    unready: Type.Optional(
      Type.Array(word(Object.keys(UNREADINESS) as Unreadiness[]), {
        description: 'With not_ready: the part first, then what is wrong with it.',
      }),
    ),
    server_time: Type.Optional(
      Type.String({ description: 'With issued_at_out_of_range: the time to sign by.' }),
    ),
  }),
})
export type ErrorResponse = Static<typeof ErrorResponse>
