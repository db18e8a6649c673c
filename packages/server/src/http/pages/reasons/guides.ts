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
    malformed_request: {
      cause: 'A proxy or a hand-written client sent a malformed request line, header or chunk.',
      remedy: 'Use an HTTP library, and check proxies between the client and the service.',
    },
    headers_too_large: {
      cause: 'The client sends large cookies or many forwarded headers.',
      remedy: 'Send only the headers that the endpoint documents. Cookies are never needed.',
    },
    expectation_unsupported: {
      cause: 'Some HTTP clients add `Expect` to requests with a body.',
      remedy: 'Remove the `Expect` header.',
    },
    unknown_endpoint: {
      cause: 'The path has a typing error, or the base URL lacks `/api/v1`.',
      remedy: 'Compare the path with the OpenAPI document at `/api/v1/openapi.json`.',
    },
    method_not_allowed: {
      cause: 'The request uses another method than the endpoint, such as GET instead of POST.',
      remedy: 'Use a method that the `Allow` header of the response lists.',
    },
    unsupported_media_type: {
      cause: 'The `Content-Type` header is missing, or names another type or character set.',
      remedy: 'Send `Content-Type: application/json` and encode the body in UTF-8.',
    },
    body_too_large: {
      cause: 'The request carries data that the endpoint does not need, such as raw sensor data.',
      remedy:
        'Send only the members that the endpoint documents. Reduce `context.display` and evidence to their documented limits.',
    },
    missing_body: {
      cause: 'The client sent no body, or an HTTP library dropped it.',
      remedy: 'Send a JSON object with the documented members.',
    },
    unexpected_body: {
      cause:
        'The request has a body with members that belong in the path, a query parameter or a header.',
      remedy: 'Remove the body, or send `{}`.',
    },
    invalid_utf8: {
      cause: 'The client encoded the body in another character set.',
      remedy: 'Encode the body in UTF-8.',
    },
    malformed_json: {
      cause: 'The body is cut off, or code assembled it from strings with a wrong quote or comma.',
      remedy: 'Serialize the body with a JSON library.',
    },
    duplicate_member: {
      cause:
        'The body was assembled from parts that contain the same member. Parsers disagree about which one counts, so the service rejects both.',
      remedy: 'Send each member once.',
    },
    nesting_too_deep: {
      cause: 'The body contains a structure that no endpoint accepts.',
      remedy: 'Send only the documented members.',
    },
    lone_surrogate: {
      cause: 'Text was cut in the middle of a character, usually by a limit in UTF-16 units.',
      remedy: 'Cut text at character boundaries.',
    },
    null_character: {
      cause:
        'The text comes from a buffer of fixed size, or from a form that a program filled. `error.param` names the member.',
      remedy: 'Remove the character, and what follows it if the buffer was longer than the text.',
    },
    unknown_member: {
      cause: 'A member is misspelled or belongs to another endpoint. `error.param` names it.',
      remedy: 'Remove or rename the member.',
    },
    missing_member: {
      cause: 'The client omits a required member. `error.param` names it.',
      remedy: 'Add the member.',
    },
    invalid_member: {
      cause: 'The value has the wrong type, form or length. `error.param` names the member.',
      remedy: 'Compare the value with the schema in the OpenAPI document.',
    },
    invalid_parameter: {
      cause: 'The parameter is unknown, or its value is out of range. `error.param` names it.',
      remedy: 'Compare the parameter with the OpenAPI document.',
    },
    duplicate_parameter: {
      cause: 'The URL was assembled from parts that contain the same parameter.',
      remedy: 'Send each query parameter once.',
    },
    invalid_header: {
      cause: 'The header is malformed or occurs twice. `error.param` names it.',
      remedy:
        'Correct the header. `Idempotency-Key` is 1 to 255 printable ASCII characters without spaces.',
    },
    workflow_unknown: {
      cause: 'The workflow is misspelled, or the operator has not configured it for your tenant.',
      remedy: 'Use a configured workflow, or ask the operator to add it.',
    },
    action_unknown: {
      cause: 'The action is misspelled, or the operator has not configured it for the workflow.',
      remedy: 'Use a configured action, or ask the operator to add it.',
    },
    workflow_required: {
      cause: 'The request names no workflow, and the credential may use more than one.',
      remedy: 'Send `workflow`.',
    },
    action_required: {
      cause: 'The request names no action, and the workflow has more than one.',
      remedy: 'Send `action`.',
    },
    subject_required: {
      cause:
        'The workflow accepts the phone of one specific user only, and the request does not name the user.',
      remedy:
        'Send the `subject_ref` of an earlier bond of this user. For a first bond use a workflow without this requirement.',
    },
    idempotency_mismatch: {
      cause:
        'Two different requests share one key, usually because the key is derived from the user instead of the request.',
      remedy: 'Use a new key for each session, and reuse it only to repeat the identical request.',
    },
    nonce_mismatch: {
      cause: 'The phone combined the session id of one QR code with the nonce of another.',
      remedy: 'Take both from the same QR code, and send the nonce that the claim accepted.',
    },
    challenge_expired: {
      cause:
        'The page replaces its QR code regularly, and the phone used an older one, for example from a photo.',
      remedy: 'Scan the QR code that the page shows now.',
    },
    issued_at_out_of_range: {
      cause:
        'The clock of the phone is wrong by more than 30 seconds, or the assertion was signed more than two minutes ago.',
      remedy: 'Set the time from `error.server_time`, and sign again.',
    },
    evidence_expired: {
      cause: 'The user waited too long between evidence and approval.',
      remedy: 'Call the evidence endpoint again, and sign the new evidence.',
    },
    assertion_invalid: {
      cause:
        'The signature does not match the key that is registered for this device. Usually the app signed a different payload than the one in section 5 of the protocol, or its counter did not increase.',
      remedy:
        'Rebuild the payload from the claim response, increase the counter and sign again. After five failed assertions the session ends.',
    },
    challenge_not_usable: {
      cause: 'A challenge works once and for a short time.',
      remedy: 'Request a new challenge, create the attestation over it and register again.',
    },
    public_key_invalid: {
      cause: 'The key is on another curve, compressed, or not encoded as DER SubjectPublicKeyInfo.',
      remedy: 'Export an uncompressed P-256 key as DER SubjectPublicKeyInfo, in base64url.',
    },
    attestation_invalid: {
      cause:
        'The attestation was created over another challenge, for another app, or by a certificate chain that the service does not trust. One reason covers every failure, so that it reveals no detail.',
      remedy:
        'Check the app id, the environment and the challenge. Create a new key, and register it with a new challenge.',
    },
    key_approval_required: {
      cause: 'The request has a device token and no `approval`.',
      remedy:
        'Sign `bonded-device-add/v1` with the key of the token’s device and send it as `approval`, or send no token to register a new subject.',
    },
    completion_secret_missing: {
      cause: 'The backend calls form-completed without the secret from the create response.',
      remedy:
        'Store `completion_secret` when you create the session, and send it in `X-Bond-Completion-Secret`.',
    },
    completion_secret_mismatch: {
      cause: 'The backend sent the secret of another session.',
      remedy: 'Store the secret together with the session id.',
    },
  }),
  ...guides('unchanged', {
    request_timeout: {
      cause: 'The connection is slow or was interrupted while the body was sent.',
      remedy: 'Send the request again on a new connection.',
    },
    rate_limited: {
      cause:
        'The caller, its network or its tenant sent more requests than the limit in `RateLimit-Policy`.',
      remedy:
        'Wait for the number of seconds in `Retry-After`. Ask the operator for a higher limit if this happens in normal use.',
    },
    internal_error: {
      cause: 'A defect of the service.',
      remedy:
        'Retry once. If the error persists, report `error.requestId`, which the log of the service contains.',
    },
    store_unavailable: {
      cause: 'The disk is full, or another program has locked the database.',
      remedy: 'Retry after the time in `Retry-After`. Operators: run `bonded doctor`.',
    },
    not_ready: {
      cause: 'A part of the service does not work, such as its database or a root key.',
      remedy: 'Operators: fix the checks that `error.unready` lists, or run `bonded doctor`.',
    },
    overloaded: {
      cause: 'The service received more requests than it can process.',
      remedy: 'Retry after the time in `Retry-After`, with exponential backoff.',
    },
  }),
  ...guides('repeatable', {
    operation_timeout: {
      cause: 'The database is slow, or another call holds a lock that this one waits for.',
      remedy:
        'Repeat the request, unchanged, if it is idempotent. A create is, with the same `Idempotency-Key`. Otherwise read the session first. Operators: check the load and the latency of the database.',
    },
  }),
  ...guides('no', {
    session_not_live: {
      cause:
        'The session has ended or expired, or the session id or nonce does not belong to a live session.',
      remedy: 'Reload the page to create a new session, and scan its QR code.',
    },
    session_claimed: {
      cause: 'Two phones scanned the same QR code. The first one keeps the session.',
      remedy: 'Continue on the phone that scanned first, or create a new session.',
    },
    device_not_usable: {
      cause:
        'The operator or the tenant has blocked the device or its user, the device is suspect, belongs to another user than the session, or has a format or environment that the workflow does not accept.',
      remedy:
        'Use another registered phone. The session timeline gives the operator the exact rule.',
    },
    key_not_attested: {
      cause:
        'The workflow has `webauthn: attested`, and the phone’s passkey has no attestation. Passkeys of iPhones have none, nor have passkeys that are synced between phones. A workflow with `webauthn: known` also returns it for a session without `subject_ref`, one with `webauthn: seasoned` for a passkey that is younger than 7 days or has completed no bond with the tenant, and one that requires a band for a key that cannot reach it.',
      remedy:
        'Approve in an app with App Attest or Android Key Attestation, or with a passkey of an authenticator that attests it, such as a security key. To accept other passkeys, set the workflow’s `webauthn` to `any`: `unattested` then decides how they score.',
    },
    key_format_not_accepted: {
      cause:
        'The workflow’s `formats` lacks the format of this phone’s key. `error.message` lists those that it accepts. If `error.param` is `shows`, a value of the context has directional marks, as amounts in Hebrew, Arabic and Persian have, and the app does not say that it isolates values. Or the context has a `text` or a `requester`, and the app does not say that it shows them.',
      remedy:
        'Approve with a key of an accepted format: `apple-app-attest` and `android-key` are keys of your apps, and `webauthn` is a passkey of the phone page. To accept this format, add it to the workflow’s `formats`. Before it makes a key, a phone reads `registration.formats` of the invitation. For `shows`, update the app, or open the link in the phone’s browser. A backend can also remove directional marks: `displayText(value, { marks: false })`.',
    },
    key_too_new: {
      cause:
        'The workflow demands a minimum age of keys (`min_key_age_seconds`). Or a phone that another phone added less than 72 hours ago adds or removes a phone.',
      remedy:
        'Approve with a phone that was registered earlier, or create a session again once the key is old enough. To add or remove a phone, use one that the user had before.',
    },
    policy_not_met: {
      cause:
        'A requirement such as local authentication, a passport chip or a confidence band is missing, also after the step-up.',
      remedy: 'Create a new session, and collect the evidence that `step_up.required` listed.',
    },
    format_not_enabled: {
      cause: 'The operator has not configured an app for this attestation format.',
      remedy: 'Ask the operator to configure the app in `BONDED_PHONES`, or use another format.',
    },
    key_already_registered: {
      cause: 'The app registered the same key twice, for example after losing its device token.',
      remedy: 'Create a new key, and register that one.',
    },
    approving_key_too_weak: {
      cause:
        'A sandbox key approved a production key, or an unattested `webauthn` key approved an attested one.',
      remedy: 'Approve with an attested key of the same user, or register a new subject.',
    },
    too_many_keys: {
      cause: 'The user replaced phones without removing their keys.',
      remedy: 'List the keys with `GET /devices`, and remove those that the user does not use.',
    },
    session_not_bonded: {
      cause: 'The user has not approved the request, or has declined it.',
      remedy:
        'Get the session first, and complete it only after it is `bonded` and your action has committed.',
    },
    context_mismatch: {
      cause:
        'The form was changed after the user approved it, or the digest was computed over other data.',
      remedy: 'Reject the form. Compute the digest of the submitted form as at creation.',
    },
    session_not_found: {
      cause:
        'The session ended more than an hour ago, belongs to another tenant or another service, or is outside the scope of the key, or the watch token is wrong. One reason covers all of them, so that it reveals no detail.',
      remedy:
        'Check that the request goes to `api_base_url` of the session. Create a new session if this one has ended.',
    },
    device_not_found: {
      cause: 'The device was removed, or the device token belongs to another device.',
      remedy: 'Register the phone again.',
    },
    page_not_found: {
      cause: 'The address is mistyped, or the QR code image is of a session that has ended.',
      remedy: 'Check the address. Reload the page to create a new session.',
    },
  }),
  ...INBOX_REASON_GUIDES,
  ...RECEIPT_REASON_GUIDES,
  ...BROWSER_REASON_GUIDES,
  ...CREDENTIAL_REASON_GUIDES,
  ...SUBJECT_REASON_GUIDES,
  ...WEBHOOK_REASON_GUIDES,
}
