import { canonicalJson } from './json/canonical.ts'

/**
 * The session, nonce, device, subject and tenant of an evidence summary. Its MAC covers them, but
 * its body omits them.
 */
export interface EvidenceContext {
  readonly session_id: string
  readonly nonce: string
  readonly device_id: string
  readonly subject_id: string
  readonly tenant_id: string
}

/**
 * The text whose HMAC-SHA256 under the evidence key is the summary's `signature`.
 *
 * @param evidence the summary; its `signature`, if it has one, is left out
 */
export function evidenceMacInput(context: EvidenceContext, evidence: object): string {
  const { signature: _left, ...signed } = evidence as Record<string, unknown>
  const { session_id, nonce, device_id, subject_id, tenant_id } = context
  return `bonded-evidence/v1\n${canonicalJson({ context: { device_id, nonce, session_id, subject_id, tenant_id }, evidence: signed })}`
}

/** The members of the payload `P` that an assertion signs. */
export interface AssertionFields {
  readonly session_id: string
  readonly nonce: string
  readonly device_id: string
  readonly subject_id: string
  readonly issued_at: string
  readonly tenant_id: string
  readonly workflow: string | null
  readonly action: string | null
  /** The session's `api_base_url`. */
  readonly origin: string
  /** SHA(JCS(context)), or null without a context. */
  readonly context: string | null
  /** SHA(JCS(verified_evidence)). */
  readonly evidence: string
  /** SHA(JCS(browser_key)) where the assertion registers a browser key; absent otherwise. */
  readonly browser_key?: string | undefined
}

/** `P`: the canonical text that a bond's assertion signs. */
export function assertionPayload(fields: AssertionFields): string {
  const {
    session_id,
    nonce,
    device_id,
    subject_id,
    issued_at,
    tenant_id,
    workflow,
    action,
    origin,
    context,
    evidence,
    browser_key,
  } = fields
  // Named in canonical order, which is written fastest.
  return canonicalJson({
    action,
    context,
    device_id,
    evidence,
    issued_at,
    nonce,
    origin,
    session_id,
    subject_id,
    tenant_id,
    typ: 'bonded-assertion/v1',
    workflow,
    ...(browser_key !== undefined && { browser_key }),
  })
}

/** The members of the payload whose hash is the challenge of a browser's proof. */
export interface BrowserFields {
  readonly session_id: string
  readonly tenant_id: string
  readonly workflow: string | null
  readonly action: string | null
  /** The origin of the page. */
  readonly origin: string
  /** SHA(secret), where only this browser knows the secret. */
  readonly commitment: string
}

/** `B`: the canonical text whose SHA-256 is the challenge of a browser's proof. */
export function browserPayload(fields: BrowserFields): string {
  const { session_id, tenant_id, workflow, action, origin, commitment } = fields
  return canonicalJson({
    action,
    commitment,
    origin,
    session_id,
    tenant_id,
    typ: 'bonded-browser/v1',
    workflow,
  })
}

/**
 * The text whose SHA-256 names a credential to the page of one session. It reveals no id, and two
 * sessions have different ones.
 */
export function credentialName(session_id: string, credential_id: string): string {
  return canonicalJson({ credential_id, session_id, typ: 'bonded-browser-credential/v1' })
}

/** The members of the payload that an evidence request signs. */
export interface EvidenceRequestFields {
  readonly session_id: string
  readonly nonce: string
  readonly device_id: string
  readonly subject_id: string
  readonly issued_at: string
  /** SHA(JCS(signals)). */
  readonly signals: string
}

/** The canonical text that an evidence request signs. */
export function evidenceRequestPayload(fields: EvidenceRequestFields): string {
  const { session_id, nonce, device_id, subject_id, issued_at, signals } = fields
  return canonicalJson({
    device_id,
    issued_at,
    nonce,
    session_id,
    signals,
    subject_id,
    typ: 'bonded-evidence-request/v1',
  })
}

/** What a device signs in every request about itself. A new device token needs only these. */
export interface DeviceTokenFields {
  /** The device that signs: the one whose token is sent. */
  readonly device_id: string
  readonly subject_id: string
  readonly issued_at: string
  /** The service's public origin. */
  readonly origin: string
}

/** The canonical text of a request of a device, with the members that only this one has. */
function requestPayload(
  typ: string,
  { device_id, issued_at, origin, subject_id }: DeviceTokenFields,
  others: object = {},
): string {
  return canonicalJson({ device_id, issued_at, origin, subject_id, typ, ...others })
}

/** The canonical text that a phone signs for a new device token. */
export function deviceTokenPayload(fields: DeviceTokenFields): string {
  return requestPayload('bonded-device-token/v1', fields)
}

/** The canonical text that a phone signs to open its inbox. */
export function inboxPayload(fields: DeviceTokenFields): string {
  return requestPayload('bonded-inbox/v1', fields)
}

/** The canonical text that a phone signs to end the pause of a tenant in its inbox. */
export function inboxResumePayload(fields: DeviceTokenFields & { tenant_id: string }): string {
  const { tenant_id } = fields
  return requestPayload('bonded-inbox-resume/v1', fields, { tenant_id })
}

/**
 * The canonical text that a phone signs to be woken at an endpoint of its push service, or, with
 * null, no more.
 */
export function devicePushPayload(fields: DeviceTokenFields & { endpoint: string | null }): string {
  const { endpoint } = fields
  return requestPayload('bonded-device-push/v1', fields, { endpoint })
}

/** The members of the payload that recovers a device by its browser key. */
export interface DeviceRecoveryFields {
  /** The challenge from `POST /devices/challenges`. */
  readonly challenge: string
  /** The service's public origin. */
  readonly origin: string
}

/** The canonical text that a browser key signs for a new device token, without an old one. */
export function deviceRecoveryPayload({ challenge, origin }: DeviceRecoveryFields): string {
  return canonicalJson({ typ: 'bonded-device-recovery/v1', challenge, origin })
}

/** The members of the payload that approves a further key of a subject. */
export interface DeviceAddFields extends DeviceTokenFields {
  /** The registration challenge of the new key. */
  readonly challenge: string
  /** The format of the new key. */
  readonly format: string
  /** SHA(JCS(body of `POST /devices` without `approval`)). */
  readonly registration: string
}

/** The canonical text that a registered key signs to approve a further key of its subject. */
export function deviceAddPayload(fields: DeviceAddFields): string {
  const { challenge, format, registration } = fields
  return requestPayload('bonded-device-add/v1', fields, { challenge, format, registration })
}

/** The members of the payload that removes a key of a subject. */
export interface DeviceRemoveFields extends DeviceTokenFields {
  /** The device to remove. It may be the one that signs. */
  readonly removed_device_id: string
  /** `browser` removes only the browser key of the device. */
  readonly purpose?: 'browser' | undefined
}

/** The canonical text that a registered key signs to remove a key of its subject. */
export function deviceRemovePayload(fields: DeviceRemoveFields): string {
  const { removed_device_id, purpose } = fields
  const removed = { removed_device_id, ...(purpose !== undefined && { purpose }) }
  return requestPayload('bonded-device-remove/v1', fields, removed)
}

/** The content of a QR code: session and nonce, in the app's scheme or in a `/bond` link. */
export interface Handoff {
  readonly session_id: string
  readonly nonce: string
  /** The origin of a link; undefined for the app scheme, which has none. */
  readonly origin: string | undefined
}

/**
 * Reads a `qr_payload` or a `universal_link`.
 *
 * @returns undefined for anything else
 * @example parseHandoff('pulse://bond?session_id=sess_…&nonce=…')
 */
export function parseHandoff(text: string): Handoff | undefined {
  const match =
    /^(?:(?!https?:)[a-z][a-z0-9+.-]*:\/\/bond|(https?:\/\/[^/?#@\s]+)\/bond)\?session_id=(sess_[0-9A-Za-z]{22})&nonce=([0-9A-Za-z_-]{43})$/.exec(
      text.trim(),
    )
  if (!match) return undefined
  const [, origin, session_id = '', nonce = ''] = match
  return { session_id, nonce, origin }
}
