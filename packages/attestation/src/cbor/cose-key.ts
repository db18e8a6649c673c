import { createPublicKey, type KeyObject } from 'node:crypto'
import { bytesOf, decodeCbor } from './strict-cbor.ts'

const COORDINATE_BYTES = 32

/**
 * Returns the point (0x04, X, Y) of a COSE key of type EC2, algorithm ES256, curve P-256. Undefined
 * unless the key has exactly these five members.
 */
export function pointOf(key: unknown): Buffer | undefined {
  if (!(key instanceof Map) || key.size !== 5) return undefined
  if (key.get(1) !== 2 || key.get(3) !== -7 || key.get(-1) !== 1) return undefined
  const [x, y] = [bytesOf(key.get(-2)), bytesOf(key.get(-3))]
  return x?.length === COORDINATE_BYTES && y?.length === COORDINATE_BYTES
    ? Buffer.concat([Buffer.of(4), x, y])
    : undefined
}

/** Reads an ES256 COSE key. Undefined for any other key, and for a point that is not on P-256. */
export function readCoseKey(encoded: Uint8Array): KeyObject | undefined {
  return keyOfCose(decodeCbor(encoded))
}

/** Converts a decoded ES256 COSE key. Undefined under the same conditions as `readCoseKey`. */
export function keyOfCose(decoded: unknown): KeyObject | undefined {
  const point = pointOf(decoded)
  if (point === undefined) return undefined
  const [x, y] = [
    point.subarray(1, 1 + COORDINATE_BYTES),
    point.subarray(1 + COORDINATE_BYTES),
  ].map((one) => one.toString('base64url'))
  try {
    return createPublicKey({
      key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' },
      format: 'jwk',
    })
  } catch {
    return undefined
  }
}
