import { createPublicKey, type KeyObject } from 'node:crypto'
import { encodeBase64url } from '@bonded/contract'
import { cose, decodeCredentialPublicKey } from '@simplewebauthn/server/helpers'

/** A P-256 key from COSE, or undefined for another one, and for a point that is not on the curve. */
export function readCoseKey(encoded: Uint8Array): KeyObject | undefined {
  const key = decodeCredentialPublicKey(Uint8Array.from(encoded))
  if (!cose.isCOSEPublicKeyEC2(key) || key.get(cose.COSEKEYS.crv) !== cose.COSECRV.P256) return undefined
  const [x, y] = [key.get(cose.COSEKEYS.x), key.get(cose.COSEKEYS.y)]
  if (!(x instanceof Uint8Array) || !(y instanceof Uint8Array)) return undefined
  try {
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: encodeBase64url(x), y: encodeBase64url(y) }, format: 'jwk' })
  } catch {
    return undefined
  }
}
