import { constants, createHash, type KeyObject, publicEncrypt, timingSafeEqual } from 'node:crypto'
import type { Digest } from '../x509/algorithm.ts'

/** Trailers (ISO/IEC 9796-2; Doc 9303-11, section 6.1). The one-byte trailer means SHA-1. */
const ONE_BYTE_TRAILER = 0xbc
const TWO_BYTE_TRAILER = 0xcc
const DIGEST_OF_TRAILER = new Map<number, Digest>([
  [0x34, 'sha256'],
  [0x35, 'sha512'],
  [0x36, 'sha384'],
  [0x38, 'sha224'],
])

/**
 * Verifies a signature of ISO/IEC 9796-2, digital signature scheme 1, with partial recovery. The
 * message is the part that the chip chose, recovered from the signature, followed by the challenge.
 */
export function isRecoverySignature(
  challenge: Buffer,
  { signature, key }: { signature: Buffer; key: KeyObject },
): boolean {
  const { modulusLength: modulusBits = 0 } = key.asymmetricKeyDetails ?? {}
  // A modulus that is not a whole number of bytes would shift every field. No chip uses one.
  if (
    key.asymmetricKeyType !== 'rsa' ||
    modulusBits % 8 !== 0 ||
    signature.length !== modulusBits / 8
  )
    return false
  const recovered = open(signature, key)
  return (
    recovered !== undefined &&
    [recovered, complement(recovered, key)].some((block) => coversChallenge(block, challenge))
  )
}

function open(signature: Buffer, key: KeyObject): Buffer | undefined {
  try {
    return publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, signature)
  } catch {
    // The signature is not below the modulus.
    return undefined
  }
}

/**
 * Returns the block for a signer that sends the smaller one of s and n - s (ISO/IEC 9796-2,
 * annex B).
 */
function complement(block: Buffer, key: KeyObject): Buffer {
  const modulus = BigInt(
    `0x${Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex')}`,
  )
  const value = modulus - BigInt(`0x${block.toString('hex')}`)
  return Buffer.from(value.toString(16).padStart(block.length * 2, '0'), 'hex')
}

function coversChallenge(block: Buffer, challenge: Buffer): boolean {
  // 1. The trailer names the digest.
  const [last = 0, beforeLast = 0] = [block.at(-1), block.at(-2)]
  const digest =
    last === ONE_BYTE_TRAILER
      ? 'sha1'
      : last === TWO_BYTE_TRAILER
        ? DIGEST_OF_TRAILER.get(beforeLast)
        : undefined
  if (digest === undefined) return false
  // 2. The header states partial recovery. With total recovery, the signature would not cover the
  //    challenge.
  const from = afterHeader(block)
  if (from === undefined) return false
  // 3. The recovered part and the digest of the whole message are between header and trailer.
  const end = block.length - (last === ONE_BYTE_TRAILER ? 1 : 2)
  const digestFrom = end - DIGEST_BYTES[digest]
  if (digestFrom < from) return false
  const computed = createHash(digest)
    .update(block.subarray(from, digestFrom))
    .update(challenge)
    .digest()
  return timingSafeEqual(computed, block.subarray(digestFrom, end))
}

const DIGEST_BYTES: Readonly<Record<Digest, number>> = {
  sha1: 20,
  sha224: 28,
  sha256: 32,
  sha384: 48,
  sha512: 64,
}

/** Skips the header nibbles: 6, then B as padding, then A. */
function afterHeader(block: Buffer): number | undefined {
  if (block[0] === 0x6a) return 1
  if (block[0] !== 0x6b) return undefined
  let index = 1
  while (block[index] === 0xbb) index++
  return block[index] === 0xba ? index + 1 : undefined
}
