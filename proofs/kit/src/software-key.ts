import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { fromBase64url, type Members, sha256 } from './encoding.ts'

/** The app id of the format `software` (protocol 5). */
const APP_ID = 'software'
const FLAGS = 5
const DATA_BYTES = 37
const COUNTER_AT = 33

/** A P-256 key of the format `software`. */
export interface SoftwareKey {
  readonly privateKey: KeyObject
  /** SPKI in DER, base64url. */
  readonly public_key: string
  readonly key_id: string
}

export function newKey(): SoftwareKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const key_id = sha256(spki).toString('base64url')
  return { privateKey, public_key: spki.toString('base64url'), key_id }
}

/** What a case changes in an assertion. */
export interface Signing {
  readonly counter: number
  readonly appId?: string
  /** Another payload than the one that `client_data_hash` is of. */
  readonly signedPayload?: string
}

/** The `app_attest` of a payload. */
export function assertion(key: SoftwareKey, payload: string, signing: Signing): Members {
  const data = Buffer.alloc(DATA_BYTES, FLAGS)
  sha256(signing.appId ?? APP_ID).copy(data)
  data.writeUInt32BE(signing.counter, COUNTER_AT)
  const signed = Buffer.concat([data, sha256(signing.signedPayload ?? payload)])
  return {
    key_id: key.key_id,
    client_data_hash: sha256(payload).toString('base64url'),
    authenticator_data: data.toString('base64url'),
    signature: sign('sha256', signed, key.privateKey).toString('base64url'),
  }
}

/** The public key of a registration, or undefined if it is not one. */
export function readPublicKey(text: unknown): KeyObject | undefined {
  const der = fromBase64url(text)
  try {
    const key = der && createPublicKey({ key: der, format: 'der', type: 'spki' })
    return key?.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
  } catch {
    return undefined
  }
}

/** What is wrong with an assertion over a payload (protocol 5), and its counter. */
export function faultsOf(
  attest: Members | undefined,
  of: { readonly key: KeyObject; readonly key_id: string; readonly payload: string },
): { readonly counter: number; readonly faults: readonly string[] } {
  const data = fromBase64url(attest?.['authenticator_data'])
  const signature = fromBase64url(attest?.['signature'])
  if (!attest || data?.length !== DATA_BYTES || !signature)
    return {
      counter: 0,
      faults: ['app_attest has no authenticator_data and signature of its format'],
    }
  const digest = sha256(of.payload)
  const rules: readonly (readonly [boolean, string])[] = [
    [attest['key_id'] === of.key_id, 'key_id is not the one of the registration'],
    [attest['client_data_json'] === undefined, 'client_data_json is of another format'],
    [
      attest['client_data_hash'] === digest.toString('base64url'),
      `client_data_hash is not of the payload ${of.payload}`,
    ],
    [data.subarray(0, sha256('').length).equals(sha256(APP_ID)), 'another app id'],
    [
      verify('sha256', Buffer.concat([data, digest]), of.key, signature),
      'the signature is not of authenticator_data and the hash of the payload',
    ],
  ]
  const faults = rules.flatMap(([holds, fault]) => (holds ? [] : [fault]))
  return { counter: data.readUInt32BE(COUNTER_AT), faults }
}
