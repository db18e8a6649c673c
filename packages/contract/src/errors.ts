import { type Static, Type } from './schemas/type.ts'
import { CREATE_REASONS } from './create-reasons.ts'
import { coded, ERROR_CODES } from './error-codes.ts'
import { closed, word } from './schemas/primitives.ts'
import { UNREADINESS, type Unreadiness } from './schemas/service.ts'

/**
 * Every reason that a rejection can carry, with its code. The list is closed: the service cannot
 * return another one. Each has a page in docs/reference/reasons.
 */
export const REASONS = {
  ...coded('invalid_request', {
    // The request as bytes
    malformed_request: 'The request is not valid HTTP/1.1.',
    headers_too_large: 'The request headers are too large.',
    request_timeout: 'The request did not arrive completely in time.',
    expectation_unsupported:
      'The Expect header names an expectation that this service does not support.',
    unknown_endpoint: 'There is no such endpoint. Check the path and the base URL.',
    method_not_allowed: 'This endpoint does not support this method. See the Allow header.',
    unsupported_media_type: 'Send the body as application/json in UTF-8.',
    body_too_large: 'The body is larger than this endpoint accepts.',
    missing_body: 'This endpoint requires a JSON body.',
    unexpected_body: 'This endpoint accepts no body. Send none, or an empty object.',
    invalid_utf8: 'The body is not valid UTF-8.',
    malformed_json: 'The body is not valid JSON.',
    duplicate_member: 'A member of the body occurs twice.',
    nesting_too_deep: 'The body is nested deeper than 16 levels.',
    lone_surrogate: 'A string of the body is not well-formed Unicode.',
    null_character: 'A string of the body contains the character U+0000.',
    unknown_member: 'The body has a member that this endpoint does not define.',
    missing_member: 'The body lacks a required member.',
    invalid_member: 'A member of the body has a value that this endpoint does not accept.',
    invalid_parameter: 'A query parameter has a value that this endpoint does not accept.',
    duplicate_parameter: 'A query parameter occurs twice.',
    invalid_header: 'A header has a value that this endpoint does not accept.',
  }),
  ...CREATE_REASONS,
  ...coded('invalid_request', {
    // Phone
    session_not_live: 'No live session matches this call. Scan the QR code again.',
    session_claimed: 'Another phone has claimed this session.',
    nonce_mismatch: 'The nonce does not belong to this session.',
    challenge_expired: 'This QR code has expired. Scan the current one.',
    device_not_usable: 'This device cannot be used for this session.',
    key_not_attested:
      'This request needs a key that is attested, and this key is not. Approve in an app of the ' +
      'service, or with a passkey whose authenticator attests it.',
    key_format_not_accepted:
      'This request does not accept keys of this phone’s format. Approve in an app of the service, ' +
      'or with a key of an accepted format.',
    key_too_new:
      'This phone’s key was registered too recently for this action. Use a phone that was ' +
      'registered earlier, or wait.',
    browser_key_required:
      'This request must also be confirmed in the browser, and this phone has no passkey for it. ' +
      'Register one with the approval, or approve on the phone page.',
    browser_key_invalid:
      'The passkey for the browser is not valid. Create it for rp_id and the challenge, without an ' +
      'attestation, and send it unchanged.',
    browser_proof_invalid: 'The proof of this browser is not valid. Confirm again on the page.',
    issued_at_out_of_range:
      'The time in issued_at is too far from the service’s time. Take it from server_time.',
    evidence_expired: 'The evidence has expired. Request new evidence.',
    policy_not_met: 'The evidence does not meet the policy of this action.',
    assertion_invalid:
      'The assertion is not valid for this session and device. Rebuild the payload and sign again.',
    challenge_not_usable:
      'The registration challenge is unknown, used or expired. Request a new one.',
    format_not_enabled: 'This service does not accept keys of this format.',
    public_key_invalid: 'The public key is not a P-256 key in SPKI form.',
    attestation_invalid: 'The attestation of the key could not be verified.',
    key_already_registered: 'This key is already registered. Create a new key.',
    key_approval_required:
      'A device token alone adds no key. Send approval: an assertion by the token’s device over ' +
      'the new key. To register a new subject, send no token.',
    approving_key_too_weak:
      'A key can approve only keys that prove no more than it does. Approve with an attested key, ' +
      'or register a new subject.',
    too_many_keys: 'The subject has as many keys as it may have. Remove one first.',
    // Completing
    completion_secret_missing: 'Send the completion secret in X-Bond-Completion-Secret.',
    completion_secret_mismatch: 'The completion secret does not belong to this session.',
    session_not_bonded: 'The session is not bonded.',
    browser_secret_mismatch:
      'The receipt needs the secret of the browser that confirmed. Send it as X-Bond-Browser-Secret.',
    receipts_disabled: 'This service makes no receipts.',
    bonded_without_receipt:
      'The session was bonded while the service made no receipts, so it has none.',
    context_mismatch: 'The context digest differs from the one that the user approved.',
    // Webhooks
    webhook_url_invalid:
      'This URL cannot be a webhook endpoint. Send an https URL on port 443 of a public host.',
    too_many_webhook_endpoints: 'The tenant has ten webhook endpoints already. Delete one first.',
  }),
  ...coded('unauthorized', {
    // Credentials
    credential_missing: 'Send a credential in the header Authorization: Bearer.',
    credential_invalid: 'The credential is not valid.',
    device_token_expired:
      'The device token has expired. Request a new one with it: POST /devices/{device_id}/token, ' +
      'signed by the device’s key.',
    credential_not_accepted: 'This endpoint does not accept this kind of credential.',
  }),
  ...coded('forbidden', {
    origin_not_allowed: 'This origin is not enabled for the credential.',
    key_of_another_tenant: 'The publishable key does not belong to this tenant.',
    workflow_not_enabled: 'The workflow is not enabled for this credential.',
    action_not_enabled: 'The action is not enabled for this credential.',
    tenant_suspended:
      'The operator of the service has suspended this organization, which can ask for no approval ' +
      'now. Nothing was approved.',
    unscoped_credential_required:
      'This credential is limited to some workflows, and this endpoint concerns all of them: use ' +
      'one without a limit.',
  }),
  ...coded('not_found', {
    // Not found
    session_not_found: 'No session with this id is available to this caller.',
    device_not_found: 'No device with this id is available to this caller.',
    subject_not_found: 'The tenant knows no user by this subject_ref.',
    webhook_endpoint_not_found: 'The tenant has no webhook endpoint with this id.',
    webhook_event_not_found:
      'The log has no delivery of this event. It keeps deliveries for 30 days by default.',
    page_not_found: 'There is no page at this address.',
  }),
  ...coded('rate_limited', {
    // The service itself
    rate_limited: 'Too many requests. Retry after the time in Retry-After.',
  }),
  ...coded('internal_error', {
    internal_error: 'The service failed unexpectedly. Report the request id to the operator.',
  }),
  ...coded('unavailable', {
    store_unavailable:
      'The service cannot write to its database at the moment. Nothing was changed. Retry later.',
    not_ready: 'The service is not ready. See unready for the failing checks.',
    signer_unavailable: 'The receipt could not be signed now. Retry after the time in Retry-After.',
    overloaded: 'The service is overloaded. Retry after the time in Retry-After.',
    operation_timeout:
      'The service did not finish the operation in time. It may still take effect. Retry as after ' +
      'a lost response.',
  }),
}

/** A reason of the closed list. */
export type Reason = keyof typeof REASONS

export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]]

/** The page of the service that describes every reason. */
export const REASONS_PATH = '/reasons'

/** Where the service describes a reason: a reference that is relative to the service's origin. */
export function docUrlOf(reason: Reason): string {
  return `${REASONS_PATH}#${reason}`
}

/** The one shape of every error response. */
export const ErrorResponse = closed({
  error: closed({
    code: word(ERROR_CODES),
    message: Type.String(),
    requestId: Type.String(),
    reason: Type.Optional(word(REASON_NAMES)),
    doc_url: Type.Optional(
      Type.String({
        description:
          'Where the service describes the reason, such as `/reasons#session_not_found`. Resolve it against the address of the request.',
      }),
    ),
    param: Type.Optional(Type.String({ description: 'The member, parameter or header at fault.' })),
    unready: Type.Optional(
      Type.Array(word(Object.keys(UNREADINESS) as Unreadiness[]), {
        description: 'With not_ready: the failing part and its problem.',
      }),
    ),
    reported_at: Type.Optional(
      Type.String({
        description:
          'With session_not_found, at form-completed: the session has expired after its bond, and the service keeps the report of this time.',
      }),
    ),
    server_time: Type.Optional(
      Type.String({
        description: 'With issued_at_out_of_range and device_token_expired: the time to sign by.',
      }),
    ),
  }),
})
export type ErrorResponse = Static<typeof ErrorResponse>
