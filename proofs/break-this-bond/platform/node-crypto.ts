import { p256 } from '@noble/curves/nist.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { Buffer } from './buffer.ts'
import { remembered } from './remembered.ts'

/*
 * What the service's verifiers use of `node:crypto`, in a browser. The bundle resolves
 * `node:crypto` to it, so that the verifiers themselves are those of the service.
 */

/** SPKI of a P-256 key up to its uncompressed point. */
const P256_PREFIX = '3059301306072a8648ce3d020106082a8648ce3d030107034200'

/** A public key: its point. */
interface PointKey {
  readonly point: Uint8Array
}

export function hash(_: 'sha256', data: string | Uint8Array, form: 'base64url' | 'buffer') {
  const digest = Buffer.from(sha256(typeof data === 'string' ? utf8ToBytes(data) : data))
  return form === 'buffer' ? digest : digest.toString(form)
}

/** @throws for anything but the SPKI of a P-256 key */
export function createPublicKey({ key }: { readonly key: Buffer }): PointKey {
  const prefix = key.subarray(0, P256_PREFIX.length / 2)
  if (prefix.toString('hex') !== P256_PREFIX) throw new TypeError('the key is not one of P-256')
  const point = key.subarray(prefix.length)
  p256.Point.fromBytes(point).assertValidity()
  return { point }
}

/** Whether the key made this ECDSA signature in DER, as OpenSSL verifies it. */
export function verify(
  _: 'sha256',
  message: Uint8Array,
  { point }: PointKey,
  signature: Uint8Array,
): boolean {
  return verifies(signature, message, point)
}

const verifies = remembered((signature: Uint8Array, message: Uint8Array, point: Uint8Array) =>
  p256.verify(signature, message, point, { format: 'der', lowS: false }),
)
