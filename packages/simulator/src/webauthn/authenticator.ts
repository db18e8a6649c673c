import { Buffer } from 'node:buffer'
import { hash, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { AppAttest } from '@bonded/contract'
import type { CborValue } from '../test-pki/cbor.ts'
import { newKey, publicHalf } from '../test-pki/key.ts'
import { credentialOf, encodeAttestation, ES256, headerOf } from './authenticator-data.ts'

/** What a page sends to `POST /devices` as `registration`. */
export interface WebauthnRegistrationJson {
  readonly id: string
  readonly rawId: string
  readonly type: 'public-key'
  readonly clientExtensionResults: Readonly<Record<string, never>>
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string }
}

/** The flags of an authenticator: UP 1, UV 4, BE 8, BS 16. */
export const WEBAUTHN_FLAGS = {
  userPresent: 1,
  userVerified: 4,
  backupEligible: 8,
  backedUp: 16,
} as const
const ATTESTED_CREDENTIAL = 0x40
const PRESENT_AND_VERIFIED = WEBAUTHN_FLAGS.userPresent | WEBAUTHN_FLAGS.userVerified

/** Creates an attestation statement: its format and members. */
export type Attestation = (about: {
  readonly privateKey: KeyObject
  readonly authenticatorData: Buffer
  readonly clientDataHash: Buffer
}) => readonly [format: string, members: ReadonlyMap<string, CborValue>]

export interface AuthenticatorOptions {
  /** The service's origin. */
  readonly origin: string
  /** The relying party id; by default the host of the origin. */
  readonly rpId?: string
  /** Default: `noAttestation`. */
  readonly attestation?: Attestation
  readonly aaguid?: Uint8Array
  readonly flags?: number
  /** False for a passkey, whose counter stays 0. */
  readonly counts?: boolean
}

/** An authenticator with one key, and its browser. */
export interface Authenticator {
  readonly credentialId: string
  readonly privateKey: KeyObject
  /** @param challenge base64url */
  register(challenge: string): WebauthnRegistrationJson
  /** Signs a payload of the protocol. `tamper` overrides fields in tests. */
  assert(
    payload: string,
    tamper?: { readonly clientData?: object; readonly flags?: number; readonly counter?: number },
  ): Required<AppAttest>
}

/** Creates an authenticator with a new key. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const {
    origin,
    rpId = new URL(origin).hostname,
    attestation = noAttestation,
    aaguid = Buffer.alloc(16),
    flags = PRESENT_AND_VERIFIED,
    counts = true,
  } = options
  const privateKey = newKey()
  const credential = randomBytes(32)
  const credentialId = credential.toString('base64url')
  let counter = 0

  return {
    credentialId,
    privateKey,
    register(challenge) {
      const clientData = Buffer.from(
        JSON.stringify({ type: 'webauthn.create', challenge, origin, crossOrigin: false }),
      )
      const header = headerOf({ appId: rpId, flags: flags | ATTESTED_CREDENTIAL, counter })
      const data = Buffer.concat([
        header,
        credentialOf({ aaguid, id: credential, publicKey: publicHalf(privateKey) }),
      ])
      const [format, members] = attestation({
        privateKey,
        authenticatorData: data,
        clientDataHash: sha256(clientData),
      })
      const object = encodeAttestation(format, members, data)
      return {
        id: credentialId,
        rawId: credentialId,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData.toString('base64url'),
          attestationObject: object.toString('base64url'),
        },
      }
    },
    assert(payload, tamper = {}) {
      const challenge = sha256(payload).toString('base64url')
      const clientData = Buffer.from(
        JSON.stringify({
          type: 'webauthn.get',
          challenge,
          origin,
          crossOrigin: false,
          ...tamper.clientData,
        }),
      )
      if (counts) counter += 1
      const data = headerOf({
        appId: rpId,
        flags: tamper.flags ?? flags,
        counter: tamper.counter ?? counter,
      })
      const clientDataHash = sha256(clientData)
      return {
        key_id: credentialId,
        client_data_hash: clientDataHash.toString('base64url'),
        authenticator_data: data.toString('base64url'),
        signature: sign('sha256', Buffer.concat([data, clientDataHash]), privateKey).toString(
          'base64url',
        ),
        client_data_json: clientData.toString('base64url'),
      }
    },
  }
}

/** Format `none`: the key is not attested, as with passkeys. */
export const noAttestation: Attestation = () => ['none', new Map()]

/** Self attestation: the key signs its own registration. It proves no more than `none`. */
export const selfAttestation: Attestation = ({ privateKey, authenticatorData, clientDataHash }) => [
  'packed',
  new Map<string, CborValue>([
    ['alg', ES256],
    ['sig', sign('sha256', Buffer.concat([authenticatorData, clientDataHash]), privateKey)],
  ]),
]

function sha256(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer')
}
