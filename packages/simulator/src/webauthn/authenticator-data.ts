import { Buffer } from 'node:buffer'
import { hash, type KeyObject } from 'node:crypto'
import { type CborValue, encodeCbor } from '../test-pki/cbor.ts'

/** Encodes the header of authenticator data (WebAuthn, section 6.1), which App Attest uses too. */
export function headerOf({
  appId,
  flags,
  counter,
}: {
  appId: string
  flags: number
  counter: number
}): Buffer {
  const fixed = Buffer.alloc(5, flags)
  fixed.writeUInt32BE(counter, 1)
  return Buffer.concat([hash('sha256', appId, 'buffer'), fixed])
}

/** Encodes the credential of a registration. */
export function credentialOf({
  aaguid,
  id,
  publicKey,
}: {
  aaguid: Uint8Array
  id: Uint8Array
  publicKey: KeyObject
}): Buffer {
  const { x, y } = coordinatesOf(publicKey)
  const key = new Map<number, CborValue>([
    [1, 2],
    [3, ES256],
    [-1, 1],
    [-2, x],
    [-3, y],
  ])
  return Buffer.concat([aaguid, Buffer.of(id.length >> 8, id.length & 0xff), id, encodeCbor(key)])
}

/** COSE's number for ECDSA with SHA-256. */
export const ES256 = -7

/** Encodes an attestation object. */
export function encodeAttestation(
  format: string,
  statement: ReadonlyMap<string, CborValue>,
  authenticatorData: Uint8Array,
): Buffer {
  return encodeCbor(
    new Map<string, CborValue>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', authenticatorData],
    ]),
  )
}

export function coordinatesOf(publicKey: KeyObject): { x: Buffer; y: Buffer } {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return { x: Buffer.from(x, 'base64url'), y: Buffer.from(y, 'base64url') }
}
