import type { Reason } from '@bonded/contract'
import { BROWSER_REASON_GUIDES } from './browser-guides.ts'
import { CREDENTIAL_REASON_GUIDES } from './credential-guides.ts'
import { guides, type ReasonGuide } from './guide.ts'
import { INBOX_REASON_GUIDES } from './inbox-guides.ts'
import { RECEIPT_REASON_GUIDES } from './receipt-guides.ts'
import { SUBJECT_REASON_GUIDES } from './subject-guides.ts'
import { WEBHOOK_REASON_GUIDES } from './webhook-guides.ts'

/** One guide for each reason. A reason without a guide does not compile. */
export const REASON_GUIDES: Readonly<Record<Reason, ReasonGuide>> = {
  ...guides('corrected', {
    malformed_request: [
      'A proxy or a hand-written client sent a malformed request line, header or chunk.',
      'Use an HTTP library, and check proxies between the client and the service.',
    ],
    headers_too_large: [
      'The client sends large cookies or many forwarded headers.',
      'Send only the headers that the endpoint documents. Cookies are never needed.',
    ],
    expectation_unsupported: [
      'Some HTTP clients add `Expect` to requests with a body.',
      'Remove the `Expect` header.',
    ],
    unknown_endpoint: [
      'The path has a typing error, or the base URL lacks `/api/v1`.',
      'Compare the path with the OpenAPI document at `/api/v1/openapi.json`.',
    ],
    method_not_allowed: [
      'The request uses another method than the endpoint, such as GET instead of POST.',
      'Use a method that the `Allow` header of the response lists.',
    ],
    unsupported_media_type: [
      'The `Content-Type` header is missing, or names another type or character set.',
      'Send `Content-Type: application/json` and encode the body in UTF-8.',
    ],
    body_too_large: [
      'The request carries data that the endpoint does not need, such as raw sensor data.',
      'Send only the members that the endpoint documents. Reduce `context.display` and evidence to their documented limits.',
    ],
    missing_body: [
      'The client sent no body, or an HTTP library dropped it.',
      'Send a JSON object with the documented members.',
    ],
    unexpected_body: [
      'The request has a body with members that belong in the path, a query parameter or a header.',
      'Remove the body, or send `{}`.',
    ],
    invalid_utf8: [
      'The client encoded the body in another character set.',
      'Encode the body in UTF-8.',
    ],
    malformed_json: [
      'The body is cut off, or code assembled it from strings with a wrong quote or comma.',
      'Serialize the body with a JSON library.',
    ],
    duplicate_member: [
      'The body was assembled from parts that contain the same member. Parsers disagree about which one counts, so the service rejects both.',
      'Send each member once.',
    ],
    nesting_too_deep: [
      'The body contains a structure that no endpoint accepts.',
      'Send only the documented members.',
    ],
    lone_surrogate: [
      'Text was cut in the middle of a character, usually by a limit in UTF-16 units.',
      'Cut text at character boundaries.',
    ],
    null_character: [
      'The text comes from a buffer of fixed size, or from a form that a program filled. `error.param` names the member.',
      'Remove the character, and what follows it if the buffer was longer than the text.',
    ],
    unknown_member: [
      'A member is misspelled or belongs to another endpoint. `error.param` names it.',
      'Remove or rename the member.',
    ],
    missing_member: [
      'The client omits a required member. `error.param` names it.',
      'Add the member.',
    ],
    invalid_member: [
      'The value has the wrong type, form or length. `error.param` names the member.',
      'Compare the value with the schema in the OpenAPI document.',
    ],
    invalid_parameter: [
      'The parameter is unknown, or its value is out of range. `error.param` names it.',
      'Compare the parameter with the OpenAPI document.',
    ],
    duplicate_parameter: [
      'The URL was assembled from parts that contain the same parameter.',
      'Send each query parameter once.',
    ],
    invalid_header: [
      'The header is malformed or occurs twice. `error.param` names it.',
      'Correct the header. `Idempotency-Key` is 1 to 255 printable ASCII characters without spaces.',
    ],
    workflow_unknown: [
      'The workflow is misspelled, or the operator has not configured it for your tenant.',
      'Use a configured workflow, or ask the operator to add it.',
    ],
    action_unknown: [
      'The action is misspelled, or the operator has not configured it for the workflow.',
      'Use a configured action, or ask the operator to add it.',
    ],
    workflow_required: [
      'The request names no workflow, and the credential may use more than one.',
      'Send `workflow`.',
    ],
    action_required: [
      'The request names no action, and the workflow has more than one.',
      'Send `action`.',
    ],
    subject_required: [
      'The workflow accepts the phone of one specific user only, and the request does not name the user.',
      'Send the `subject_ref` of an earlier bond of this user. For a first bond use a workflow without this requirement.',
    ],
    idempotency_mismatch: [
      'Two different requests share one key, usually because the key is derived from the user instead of the request.',
      'Use a new key for each session, and reuse it only to repeat the identical request.',
    ],
    nonce_mismatch: [
      'The phone combined the session id of one QR code with the nonce of another.',
      'Take both from the same QR code, and send the nonce that the claim accepted.',
    ],
    challenge_expired: [
      'The page replaces its QR code regularly, and the phone used an older one, for example from a photo.',
      'Scan the QR code that the page shows now.',
    ],
    issued_at_out_of_range: [
      'The clock of the phone is wrong by more than 30 seconds, or the assertion was signed more than two minutes ago.',
      'Set the time from `error.server_time`, and sign again.',
    ],
    evidence_expired: [
      'The user waited too long between evidence and approval.',
      'Call the evidence endpoint again, and sign the new evidence.',
    ],
    assertion_invalid: [
      'The signature does not match the key that is registered for this device. Usually the app signed a different payload than the one in section 5 of the protocol, or its counter did not increase.',
      'Rebuild the payload from the claim response, increase the counter and sign again. After five failed assertions the session ends.',
    ],
    challenge_not_usable: [
      'A challenge works once and for a short time.',
      'Request a new challenge, create the attestation over it and register again.',
    ],
    public_key_invalid: [
      'The key is on another curve, compressed, or not encoded as DER SubjectPublicKeyInfo.',
      'Export an uncompressed P-256 key as DER SubjectPublicKeyInfo, in base64url.',
    ],
    attestation_invalid: [
      'The attestation was created over another challenge, for another app, or by a certificate chain that the service does not trust. One reason covers every failure, so that it reveals no detail.',
      'Check the app id, the environment and the challenge. Create a new key, and register it with a new challenge.',
    ],
    key_approval_required: [
      'The request has a device token and no `approval`.',
      'Sign `bonded-device-add/v1` with the key of the token’s device and send it as `approval`, or send no token to register a new subject.',
    ],
    completion_secret_missing: [
      'The backend calls form-completed without the secret from the create response.',
      'Store `completion_secret` when you create the session, and send it in `X-Bond-Completion-Secret`.',
    ],
    completion_secret_mismatch: [
      'The backend sent the secret of another session.',
      'Store the secret together with the session id.',
    ],
  }),
  ...guides('unchanged', {
    request_timeout: [
      'The connection is slow or was interrupted while the body was sent.',
      'Send the request again on a new connection.',
    ],
    rate_limited: [
      'The caller, its network or its tenant sent more requests than the limit in `RateLimit-Policy`.',
      'Wait for the number of seconds in `Retry-After`. Ask the operator for a higher limit if this happens in normal use.',
    ],
    internal_error: [
      'A defect of the service.',
      'Retry once. If the error persists, report `error.requestId`, which the log of the service contains.',
    ],
    store_unavailable: [
      'The disk is full, or another program has locked the database.',
      'Retry after the time in `Retry-After`. Operators: run `bonded doctor`.',
    ],
    not_ready: [
      'A part of the service does not work, such as its database or a root key.',
      'Operators: fix the checks that `error.unready` lists, or run `bonded doctor`.',
    ],
    overloaded: [
      'The service received more requests than it can process.',
      'Retry after the time in `Retry-After`, with exponential backoff.',
    ],
  }),
  ...guides('repeatable', {
    operation_timeout: [
      'The database is slow, or another call holds a lock that this one waits for.',
      'Repeat the request, unchanged, if it is idempotent. A create is, with the same `Idempotency-Key`. Otherwise read the session first. Operators: check the load and the latency of the database.',
    ],
  }),
  ...guides('no', {
    session_not_live: [
      'The session has ended or expired, or the session id or nonce does not belong to a live session.',
      'Reload the page to create a new session, and scan its QR code.',
    ],
    session_claimed: [
      'Two phones scanned the same QR code. The first one keeps the session.',
      'Continue on the phone that scanned first, or create a new session.',
    ],
    device_not_usable: [
      'The operator or the tenant has blocked the device or its user, the device is suspect, belongs to another user than the session, or has a format or environment that the workflow does not accept.',
      'Use another registered phone. The session timeline gives the operator the exact rule.',
    ],
    key_not_attested: [
      'The workflow has `webauthn: attested`, and the phone’s passkey has no attestation. Passkeys of iPhones have none, nor have passkeys that are synced between phones. A workflow with `webauthn: known` also returns it for a session without `subject_ref`, one with `webauthn: seasoned` for a passkey that is younger than 7 days or has completed no bond with the tenant, and one that requires a band for a key that cannot reach it.',
      'Approve in an app with App Attest or Android Key Attestation, or with a passkey of an authenticator that attests it, such as a security key. To accept other passkeys, set the workflow’s `webauthn` to `any`: `unattested` then decides how they score.',
    ],
    key_format_not_accepted: [
      'The workflow’s `formats` lacks the format of this phone’s key. `error.message` lists those that it accepts. If `error.param` is `shows`, a value of the context has directional marks, as amounts in Hebrew, Arabic and Persian have, and the app does not say that it isolates values. Or the context has a `text` or a `requester`, and the app does not say that it shows them.',
      'Approve with a key of an accepted format: `apple-app-attest` and `android-key` are keys of your apps, and `webauthn` is a passkey of the phone page. To accept this format, add it to the workflow’s `formats`. Before it makes a key, a phone reads `registration.formats` of the invitation. For `shows`, update the app, or open the link in the phone’s browser. A backend can also remove directional marks: `displayText(value, { marks: false })`.',
    ],
    key_too_new: [
      'The workflow demands a minimum age of keys (`min_key_age_seconds`). Or a phone that another phone added less than 72 hours ago adds or removes a phone.',
      'Approve with a phone that was registered earlier, or create a session again once the key is old enough. To add or remove a phone, use one that the user had before.',
    ],
    policy_not_met: [
      'A requirement such as local authentication, a passport chip or a confidence band is missing, also after the step-up.',
      'Create a new session, and collect the evidence that `step_up.required` listed.',
    ],
    format_not_enabled: [
      'The operator has not configured an app for this attestation format.',
      'Ask the operator to configure the app in `BONDED_PHONES`, or use another format.',
    ],
    key_already_registered: [
      'The app registered the same key twice, for example after losing its device token.',
      'Create a new key, and register that one.',
    ],
    approving_key_too_weak: [
      'A sandbox key approved a production key, or an unattested `webauthn` key approved an attested one.',
      'Approve with an attested key of the same user, or register a new subject.',
    ],
    too_many_keys: [
      'The user replaced phones without removing their keys.',
      'List the keys with `GET /devices`, and remove those that the user does not use.',
    ],
    session_not_bonded: [
      'The user has not approved the request, or has declined it.',
      'Get the session first, and complete it only after it is `bonded` and your action has committed.',
    ],
    context_mismatch: [
      'The form was changed after the user approved it, or the digest was computed over other data.',
      'Reject the form. Compute the digest of the submitted form as at creation.',
    ],
    session_not_found: [
      'The session ended more than an hour ago, belongs to another tenant or another service, or is outside the scope of the key, or the watch token is wrong. One reason covers all of them, so that it reveals no detail.',
      'Check that the request goes to `api_base_url` of the session. Create a new session if this one has ended.',
    ],
    device_not_found: [
      'The device was removed, or the device token belongs to another device.',
      'Register the phone again.',
    ],
    page_not_found: [
      'The address is mistyped, or the QR code image is of a session that has ended.',
      'Check the address. Reload the page to create a new session.',
    ],
  }),
  ...INBOX_REASON_GUIDES,
  ...RECEIPT_REASON_GUIDES,
  ...BROWSER_REASON_GUIDES,
  ...CREDENTIAL_REASON_GUIDES,
  ...SUBJECT_REASON_GUIDES,
  ...WEBHOOK_REASON_GUIDES,
}
