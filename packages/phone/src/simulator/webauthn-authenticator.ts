import { Buffer } from 'node:buffer'
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { AppAttest } from '@bonded/contract'
import { authority, type CertificateExtension, certify, type Name, notAuthority } from './android-certificate.ts'
import { octets } from './android-der.ts'
import { type CborValue, encodeCbor } from './webauthn-cbor.ts'

/** What a page sends to `POST /devices` as `registration`. */
export interface WebauthnRegistrationJson {
  readonly id: string
  readonly rawId: string
  readonly type: 'public-key'
  readonly clientExtensionResults: Readonly<Record<string, never>>
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string }
}

/** The flags of an authenticator: UP 1, UV 4, BE 8, BS 16. */
export const WEBAUTHN_FLAGS = { userPresent: 1, userVerified: 4, backupEligible: 8, backedUp: 16 } as const
const ATTESTED_CREDENTIAL = 0x40
const PRESENT_AND_VERIFIED = WEBAUTHN_FLAGS.userPresent | WEBAUTHN_FLAGS.userVerified

/** Who vouches for an authenticator: makes the statement's format and members. */
export type Attestation = (about: {
  readonly privateKey: KeyObject
  readonly authenticatorData: Buffer
  readonly clientDataHash: Buffer
}) => readonly [format: string, members: ReadonlyMap<string, CborValue>]

export interface AuthenticatorOptions {
  /** The service's origin; its host is the RP ID. */
  readonly origin: string
  /** Without it: `none`. */
  readonly attestation?: Attestation
  readonly aaguid?: Uint8Array
  readonly flags?: number
  /** False for a passkey, which does not count. */
  readonly counts?: boolean
}

/** An authenticator with one key, and the browser in front of it. */
export interface Authenticator {
  readonly credentialId: string
  readonly privateKey: KeyObject
  /** @param challenge base64url */
  register(challenge: string): WebauthnRegistrationJson
  /** Signs a payload of the protocol; `clientData` and `flags` bend it for tests. */
  assert(payload: string, bend?: { readonly clientData?: object; readonly flags?: number; readonly counter?: number }): Required<AppAttest>
}

/** Makes an authenticator with a new key. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { origin, attestation = nobody, aaguid = Buffer.alloc(16), flags = PRESENT_AND_VERIFIED, counts = true } = options
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential = randomBytes(32)
  const credentialId = credential.toString('base64url')
  let counter = 0

  const authenticatorData = (flagBits: number, count: number, ...more: readonly Uint8Array[]): Buffer => {
    const fixed = Buffer.alloc(5, flagBits)
    fixed.writeUInt32BE(count, 1)
    return Buffer.concat([sha256(new URL(origin).hostname), fixed, ...more])
  }

  return {
    credentialId,
    privateKey,
    register(challenge) {
      const clientData = Buffer.from(JSON.stringify({ type: 'webauthn.create', challenge, origin, crossOrigin: false }))
      const length = Buffer.of(credential.length >> 8, credential.length & 0xff)
      const data = authenticatorData(flags | ATTESTED_CREDENTIAL, counter, aaguid, length, credential, coseKeyOf(privateKey))
      const [format, members] = attestation({ privateKey, authenticatorData: data, clientDataHash: sha256(clientData) })
      const object = encodeCbor(
        new Map<string, CborValue>([
          ['fmt', format],
          ['attStmt', members],
          ['authData', data],
        ]),
      )
      return {
        id: credentialId,
        rawId: credentialId,
        type: 'public-key',
        clientExtensionResults: {},
        response: { clientDataJSON: clientData.toString('base64url'), attestationObject: object.toString('base64url') },
      }
    },
    assert(payload, bend = {}) {
      const challenge = sha256(payload).toString('base64url')
      const clientData = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin, crossOrigin: false, ...bend.clientData }))
      if (counts) counter += 1
      const data = authenticatorData(bend.flags ?? flags, bend.counter ?? counter)
      const clientDataHash = sha256(clientData)
      return {
        key_id: credentialId,
        client_data_hash: clientDataHash.toString('base64url'),
        authenticator_data: data.toString('base64url'),
        signature: sign('sha256', Buffer.concat([data, clientDataHash]), privateKey).toString('base64url'),
        client_data_json: clientData.toString('base64url'),
      }
    },
  }
}

/** Nobody vouches: what passkeys give. */
export const nobody: Attestation = () => ['none', new Map()]

/** The key vouches for itself: worth as much. */
export const itself: Attestation = ({ privateKey, authenticatorData, clientDataHash }) => [
  'packed',
  new Map<string, CborValue>([
    ['alg', ES256],
    ['sig', sign('sha256', Buffer.concat([authenticatorData, clientDataHash]), privateKey)],
  ]),
]

const ES256 = -7
const ROOT: Name = [['commonName', 'Bonded Sessions test root for authenticators']]
const MODEL: Name = [
  ['country', 'AA'],
  ['organization', 'Bonded Sessions'],
  ['unit', 'Authenticator Attestation'],
  ['commonName', 'Simulated authenticator'],
]
const AAGUID_EXTENSION = '1.3.6.1.4.1.45724.1.1.4'
const DATES = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2049-12-31T23:59:59Z') }

/** A maker of authenticators under a test root: only a sandbox may trust it. */
export interface AuthenticatorMaker {
  /** DER. */
  readonly root: Buffer
  /** Vouches in the format `packed`, with the chain of its attestation key. */
  readonly attestation: Attestation
}

/** Makes a root and an attestation key for one model. */
export function createAuthenticatorMaker(aaguid: Uint8Array, bend: { readonly subject?: Name } = {}): AuthenticatorMaker {
  const rootKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const modelKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const model: CertificateExtension = { id: AAGUID_EXTENSION, value: octets(aaguid) }
  const root = certify({ serial: 1n, subject: ROOT, issuer: ROOT, publicKey: rootKey, issuerKey: rootKey, ...DATES, extensions: [authority()] })
  const certificate = certify({
    serial: 2n,
    subject: bend.subject ?? MODEL,
    issuer: ROOT,
    publicKey: modelKey,
    issuerKey: rootKey,
    ...DATES,
    extensions: [notAuthority, model],
  })
  return {
    root,
    attestation: ({ authenticatorData, clientDataHash }) => [
      'packed',
      new Map<string, CborValue>([
        ['alg', ES256],
        ['sig', sign('sha256', Buffer.concat([authenticatorData, clientDataHash]), modelKey)],
        ['x5c', [certificate]],
      ]),
    ],
  }
}

function coseKeyOf(privateKey: KeyObject): Buffer {
  const { x = '', y = '' } = createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' })).export({ format: 'jwk' })
  return encodeCbor(
    new Map<number, CborValue>([
      [1, 2],
      [3, ES256],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  )
}

function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}
