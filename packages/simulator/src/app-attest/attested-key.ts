import { hash, type KeyObject, sign } from 'node:crypto'
import type { CborValue } from '../test-pki/cbor.ts'
import { publicHalf } from '../test-pki/key.ts'
import { encodeAttestation } from '../webauthn/authenticator-data.ts'
import { type AppExtensions, assertedData, attestedData, keyIdOf } from './authenticator-data.ts'
import { type AppAttestAuthority, certifyKey } from './authority.ts'

/** An app on a phone. */
export interface SimulatedApp {
  /** Team id, dot, bundle id. */
  readonly appId: string
  /** Undefined for a phone before iOS 27. */
  readonly extensions: AppExtensions | undefined
}

export interface Attestation {
  /** Standard base64, as iOS returns it. */
  readonly keyId: string
  readonly attestationObject: Buffer
}

/**
 * Returns what `DCAppAttestService.attestKey` returns, under a test root instead of Apple's. The
 * receipt is empty.
 */
export function attestKey(
  app: SimulatedApp & { readonly environment: 'development' | 'production' },
  parts: {
    authority: AppAttestAuthority
    privateKey: KeyObject
    clientDataHash: Uint8Array
    now: number
  },
): Attestation {
  const publicKey = publicHalf(parts.privateKey)
  const keyId = keyIdOf(publicKey)
  const authenticatorData = attestedData({ ...app, publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, parts.clientDataHash]), 'buffer')
  const chain = certifyKey(parts.authority, { publicKey, keyId, nonce, now: parts.now })
  return {
    keyId: keyId.toString('base64'),
    attestationObject: attestationObject({ chain, receipt: Buffer.alloc(0), authenticatorData }),
  }
}

/** The envelope of an attestation. */
export function attestationObject(parts: {
  chain: readonly Uint8Array[]
  receipt: Uint8Array
  authenticatorData: Uint8Array
}): Buffer {
  const statement = new Map<string, CborValue>([
    ['x5c', parts.chain],
    ['receipt', parts.receipt],
  ])
  return encodeAttestation('apple-appattest', statement, parts.authenticatorData)
}

export interface Assertion {
  readonly authenticatorData: Buffer
  readonly signature: Buffer
}

/** Returns the fields of what `DCAppAttestService.generateAssertion` returns. */
export function createAppAssertion(
  app: SimulatedApp,
  parts: { privateKey: KeyObject; counter: number; clientDataHash: Uint8Array },
): Assertion {
  const authenticatorData = assertedData({ ...app, counter: parts.counter })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, parts.clientDataHash]), 'buffer')
  return { authenticatorData, signature: sign('sha256', nonce, parts.privateKey) }
}
