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

/** What a page sends as `assertion` of the browser's proof: the `toJSON()` of its credential. */
export interface WebauthnAssertionJson {
  readonly id: string
  readonly rawId: string
  readonly type: 'public-key'
  readonly authenticatorAttachment: 'cross-platform'
  readonly clientExtensionResults: Readonly<Record<string, never>>
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
  }
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
  /** A key that was created before. Default: a new one. */
  readonly key?: { readonly credentialId: string; readonly privateKey: KeyObject }
}

/** Overrides what an honest authenticator and browser would sign. */
export interface AssertionTamper {
  readonly clientData?: object
  readonly flags?: number
  readonly counter?: number
}

/** An authenticator with one key, and its browser. */
export interface Authenticator {
  readonly credentialId: string
  readonly privateKey: KeyObject
  /** @param challenge base64url */
  register(challenge: string): WebauthnRegistrationJson
  /** Signs a payload of the protocol. `tamper` overrides fields in tests. */
  assert(payload: string, tamper?: AssertionTamper): Required<AppAttest>
  /**
   * Signs a payload for a page of another origin that may use the relying party id, as a browser
   * does for the page that waits for the bond.
   *
   * @param origin of the page, as its browser writes it into the client data
   */
  confirm(payload: string, origin: string, tamper?: AssertionTamper): WebauthnAssertionJson
  /**
   * Signs a challenge that a page gave its browser.
   *
   * @param challenge base64url
   */
  answer(challenge: string, origin: string, tamper?: AssertionTamper): WebauthnAssertionJson
}

/** Creates an authenticator with a new key. */
// oxlint-disable-next-line max-lines-per-function -- short methods over the same keys
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const {
    origin,
    rpId = new URL(origin).hostname,
    attestation = noAttestation,
    aaguid = Buffer.alloc(16),
    flags = PRESENT_AND_VERIFIED,
    counts = true,
  } = options
  const { privateKey, credentialId } = options.key ?? {
    privateKey: newKey(),
    credentialId: randomBytes(32).toString('base64url'),
  }
  let counter = 0

  const signFor = (pageOrigin: string, challenge: string, tamper: AssertionTamper = {}) => {
    const clientData = Buffer.from(
      JSON.stringify({
        type: 'webauthn.get',
        challenge,
        origin: pageOrigin,
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
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), privateKey)
    return { clientData, data, signature }
  }

  const answer: Authenticator['answer'] = (challenge, pageOrigin, tamper) => {
    const { clientData, data, signature } = signFor(pageOrigin, challenge, tamper)
    return {
      id: credentialId,
      rawId: credentialId,
      type: 'public-key',
      authenticatorAttachment: 'cross-platform',
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
      },
    }
  }

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
        credentialOf({
          aaguid,
          id: Buffer.from(credentialId, 'base64url'),
          publicKey: publicHalf(privateKey),
        }),
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
    assert(payload, tamper) {
      const { clientData, data, signature } = signFor(origin, challengeOf(payload), tamper)
      return {
        key_id: credentialId,
        client_data_hash: sha256(clientData).toString('base64url'),
        authenticator_data: data.toString('base64url'),
        signature: signature.toString('base64url'),
        client_data_json: clientData.toString('base64url'),
      }
    },
    confirm: (payload, pageOrigin, tamper) => answer(challengeOf(payload), pageOrigin, tamper),
    answer,
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

/** The challenge of a payload: its digest in base64url. */
function challengeOf(payload: string): string {
  return sha256(payload).toString('base64url')
}

function sha256(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer')
}
