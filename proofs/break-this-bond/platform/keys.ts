import { encodeBase64url, encodeBase62 } from '@bonded/contract'
import { deriveKeys, type Hashing } from '@bonded/core/ports/derived-keys'
import type { Keyring, Random } from '@bonded/core/ports/keyring'
import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'
import { equalBytes } from '@noble/curves/utils.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { remembered } from './remembered.ts'

const KEY_BYTES = 32
/** What a key of P-256 is made of, so that its distribution is even. */
const SEED_BYTES = 48
/** Enough for 43 digits: base62 of 32 bytes. */
const BYTES_OF_DIGITS = 32
const SPKI_PREFIX = hexToBytes('3059301306072a8648ce3d020106082a8648ce3d030107034200')
const FINGERPRINT_MASK = 0xff_ffff

/** Hash and MAC of `@noble/hashes`. */
export const nobleHashing: Hashing<Uint8Array> = {
  derive: (root, salt, info) => hkdf(sha256, root, utf8ToBytes(salt), utf8ToBytes(info), KEY_BYTES),
  mac: (key, text) => encodeBase64url(hmac(sha256, key, utf8ToBytes(text))),
  sha256: (text) => encodeBase64url(sha256(utf8ToBytes(text))),
  same: (a, b) => equalBytes(utf8ToBytes(a), utf8ToBytes(b)),
}

/** The keyring of the game. A call of what no level uses throws. */
export function gameKeys(root: Uint8Array): Keyring {
  const { derivations } = deriveKeys([{ id: 'k1', bytes: root }], nobleHashing)
  const used: Partial<Keyring> = {
    ...derivations,
    same: (a, b) => equalBytes(bytesOf(a), bytesOf(b)),
    sha256Bytes: (...parts) => sha256(concatBytes(...parts)),
    digest: (credential) => sha256(utf8ToBytes(credential)),
    // They only recognize a motion that is reported twice, and no one else reads them here.
    motionFingerprints: (_key, _device, patterns) =>
      patterns.map((pattern) => pattern & FINGERPRINT_MASK),
  }
  return used as Keyring
}

/** Random values that follow from a seed, so that a game can be repeated. */
export function seededRandom(seed: string): Random & { readonly bytes: () => Uint8Array } {
  let drawn = 0
  const bytes = () => sha256(utf8ToBytes(`${seed} ${drawn++}`))
  return {
    bytes,
    id: () => bytes().slice(0, 16),
    base62: (digits) => encodeBase62(bytes().slice(0, BYTES_OF_DIGITS), digits).slice(0, digits),
  }
}

/** A key of P-256, or of Ed25519. */
export interface SigningKey {
  /** SPKI in DER, or the 32 bytes of Ed25519. */
  readonly publicKey: Uint8Array
  /** ECDSA with SHA-256 in DER, or Ed25519. */
  sign(message: Uint8Array): Uint8Array
}

/** Creates a key of P-256 from 32 random bytes. */
export const signingKey = remembered((bytes: Uint8Array): SigningKey => {
  const { secretKey } = p256.keygen(concatBytes(bytes, sha256(bytes)).slice(0, SEED_BYTES))
  return {
    publicKey: concatBytes(SPKI_PREFIX, p256.getPublicKey(secretKey, false)),
    sign: remembered((message: Uint8Array) => p256.sign(message, secretKey, { format: 'der' })),
  }
})

/** Creates a key of Ed25519 from 32 random bytes. */
export const ed25519Key = remembered(
  (bytes: Uint8Array): SigningKey => ({
    publicKey: ed25519.getPublicKey(bytes),
    sign: remembered((message: Uint8Array) => ed25519.sign(message, bytes)),
  }),
)

function bytesOf(of: string | Uint8Array): Uint8Array {
  return typeof of === 'string' ? utf8ToBytes(of) : of
}
