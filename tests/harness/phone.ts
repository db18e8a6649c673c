import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  type AppAttest,
  assertionPayload,
  type BrowserKeyRegistration,
  deviceAddPayload,
  deviceRecoveryPayload,
  deviceRemovePayload,
  deviceTokenPayload,
  canonicalJson,
  evidenceRequestPayload,
  type EvidenceSignals,
  type PhoneSession,
  type VerifiedEvidence,
} from '@bonded/contract'

export { carriedSignals } from '../carried-signals.ts'

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()
const sha = (text: string) => sha256(text).toString('base64url')

/**
 * A phone with a real key whose requests a test can tamper with. @bonded/phone is the real client.
 */
export interface TestPhone {
  readonly privateKey: KeyObject
  readonly device_id: string
  readonly subject_id: string
  readonly device_token: string
  readonly key_id: string
  /** The counter of the last assertion. */
  counter: number
  /** A software key if absent. */
  readonly attested?: AttestedKey
}

/** The members of a view that a test phone reads. It shows titles and does not sign them. */
export type SeenSession = Omit<PhoneSession, 'workflow_title' | 'action_title' | 'ended_reason'>

/** What a test changes in an assertion. */
export interface Tampering {
  readonly counter?: number
  readonly appId?: string
  readonly privateKey?: KeyObject
  readonly hash?: Buffer
  /** Those of a WebAuthn key: 0x04 is the user's verification. */
  readonly flags?: number
}

/** A key of an attested format. */
export interface AttestedKey {
  readonly format: 'apple-app-attest' | 'android-key' | 'webauthn'
  /** The members of POST /devices. */
  register(challenge: string): object
  assert(
    payload: string,
    tampering: Tampering & { readonly counter: number },
  ): Omit<AppAttest, 'key_id'>
}

/** Creates a P-256 key, with the public key as POST /devices accepts it. */
export function newKey(): { privateKey: KeyObject; public_key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return {
    privateKey,
    public_key: publicKey.export({ format: 'der', type: 'spki' }).toString('base64url'),
  }
}

/** The authenticator data of a software key. */
export function authenticatorData(counter: number, appId = 'software'): Buffer {
  const counterBytes = Buffer.alloc(4)
  counterBytes.writeUInt32BE(counter)
  return Buffer.concat([sha256(appId), Buffer.of(5), counterBytes])
}

/** Signs a payload with the phone's next counter. */
export function assertion(phone: TestPhone, payload: string, tampering: Tampering = {}): AppAttest {
  const counter = tampering.counter ?? ++phone.counter
  if (phone.attested !== undefined)
    return { key_id: phone.key_id, ...phone.attested.assert(payload, { ...tampering, counter }) }
  const data = authenticatorData(counter, tampering.appId)
  const hash = tampering.hash ?? sha256(payload)
  return {
    key_id: phone.key_id,
    client_data_hash: hash.toString('base64url'),
    authenticator_data: data.toString('base64url'),
    signature: sign(
      'sha256',
      Buffer.concat([data, sha256(payload)]),
      tampering.privateKey ?? phone.privateKey,
    ).toString('base64url'),
  }
}

/** The body of POST /evidence. */
export function evidenceRequest(
  phone: TestPhone,
  view: SeenSession,
  signals: EvidenceSignals,
  issuedAt: string,
) {
  const { device_id, subject_id } = phone
  const fields = {
    session_id: view.id,
    nonce: view.nonce,
    device_id,
    subject_id,
    issued_at: issuedAt,
  }
  const payload = evidenceRequestPayload({ ...fields, signals: sha(canonicalJson(signals)) })
  // In a browser the user confirms once, for the bond, so the evidence has no assertion.
  return {
    ...fields,
    signals,
    ...(phone.attested?.format === 'webauthn' ? {} : { app_attest: assertion(phone, payload) }),
  }
}

/** The body of POST /devices/{device_id}/token. */
export function tokenRequest(
  phone: TestPhone,
  issuedAt: string,
  { origin, ...tampering }: Tampering & { origin: string },
) {
  const { device_id, subject_id } = phone
  return {
    issued_at: issuedAt,
    app_attest: assertion(
      phone,
      deviceTokenPayload({ device_id, subject_id, issued_at: issuedAt, origin }),
      tampering,
    ),
  }
}

/** The body of POST /devices/recovery. */
export function recoveryRequest(
  phone: TestPhone,
  challenge: string,
  { origin, ...tampering }: Tampering & { origin: string },
) {
  const payload = deviceRecoveryPayload({ challenge, origin })
  return { challenge, app_attest: assertion(phone, payload, tampering) }
}

/**
 * The `approval` of POST /devices: the phone's assertion over the registration of a further key.
 */
export function approvalRequest(
  phone: TestPhone,
  registration: { readonly challenge: string; readonly format: string },
  issuedAt: string,
  { origin, ...tampering }: Tampering & { origin: string },
) {
  const { device_id, subject_id } = phone
  const { challenge, format } = registration
  const payload = deviceAddPayload({
    challenge,
    format,
    registration: sha(canonicalJson(registration)),
    device_id,
    subject_id,
    issued_at: issuedAt,
    origin,
  })
  return { issued_at: issuedAt, app_attest: assertion(phone, payload, tampering) }
}

/** The body of POST /devices/{device_id}/removal. */
export function removalRequest(
  phone: TestPhone,
  removedId: string,
  issuedAt: string,
  { origin, purpose, ...tampering }: Tampering & { origin: string; purpose?: 'browser' },
) {
  const { device_id, subject_id } = phone
  const payload = deviceRemovePayload({
    purpose,
    removed_device_id: removedId,
    device_id,
    subject_id,
    issued_at: issuedAt,
    origin,
  })
  return {
    issued_at: issuedAt,
    app_attest: assertion(phone, payload, tampering),
    ...(purpose && { purpose }),
  }
}

/** The payload that a bond of this view signs. */
export function payloadOf(
  phone: TestPhone,
  view: SeenSession,
  evidence: VerifiedEvidence,
  issuedAt: string,
  browserKey?: BrowserKeyRegistration,
): string {
  return assertionPayload({
    session_id: view.id,
    nonce: view.nonce,
    device_id: phone.device_id,
    subject_id: phone.subject_id,
    issued_at: issuedAt,
    tenant_id: view.tenant_id,
    workflow: view.workflow,
    action: view.action,
    origin: view.api_base_url,
    context: view.context && sha(canonicalJson(view.context)),
    evidence: sha(canonicalJson(evidence)),
    browser_key: browserKey && sha(canonicalJson(browserKey)),
  })
}

/** What the phones of the tests show: all of it. */
export const SHOWS = ['directional_marks', 'text', 'requester', 'quorum']

/** The body of POST /attestations. */
export function attestation(
  phone: TestPhone,
  view: SeenSession,
  evidence: VerifiedEvidence,
  issuedAt: string,
  { browserKey, ...tampering }: Tampering & { browserKey?: BrowserKeyRegistration } = {},
) {
  const payload = payloadOf(phone, view, evidence, issuedAt, browserKey)
  return {
    session_id: view.id,
    nonce: view.nonce,
    device_id: phone.device_id,
    subject_id: phone.subject_id,
    issued_at: issuedAt,
    app_attest: assertion(phone, payload, tampering),
    verified_evidence: evidence,
    ...(browserKey && { browser_key: browserKey }),
    shows: SHOWS,
  }
}
