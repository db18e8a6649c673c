import { decodeBase64url } from '@bonded/contract'
import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { Buffer } from './buffer.ts'
import { createPublicKey } from './node-crypto.ts'
import { remembered } from './remembered.ts'

/*
 * What the verifiers of receipts use of Web Crypto, which a browser has on encrypted pages only.
 * The bundle replaces the global by it, so that the verifiers are those of the integrator.
 */

const SIGNATURE_BYTES = 64

/** A public key: its point. */
interface PointKey {
  readonly point: Uint8Array
}

export const crypto = {
  subtle: {
    async digest(_: 'SHA-256', bytes: Uint8Array): Promise<Uint8Array> {
      return sha256(bytes)
    },

    /** @throws if it is not a public key */
    async importKey(
      form: 'jwk' | 'raw' | 'spki',
      key: Uint8Array | { readonly x: string },
    ): Promise<PointKey> {
      if (!(key instanceof Uint8Array)) return { point: decodeBase64url(key.x) ?? new Uint8Array() }
      return form === 'spki' ? createPublicKey({ key: Buffer.from(key) }) : { point: key }
    },

    /** Verifies Ed25519 (RFC 8032), or ECDSA with P-256 and SHA-256 over r and s. */
    async verify(
      algorithm: 'Ed25519' | object,
      { point }: PointKey,
      signature: Uint8Array,
      message: Uint8Array,
    ): Promise<boolean> {
      if (signature.length !== SIGNATURE_BYTES) return false
      const verifies = algorithm === 'Ed25519' ? isOfEd25519 : isOfP256
      return verifies(signature, message, point)
    },
  },
}

const isOfEd25519 = remembered((signature: Uint8Array, message: Uint8Array, point: Uint8Array) =>
  ed25519.verify(signature, message, point, {
    zip215: false,
  }),
)
const isOfP256 = remembered((signature: Uint8Array, message: Uint8Array, point: Uint8Array) =>
  p256.verify(signature, message, point, {
    format: 'compact',
    lowS: false,
  }),
)
