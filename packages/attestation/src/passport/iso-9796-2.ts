import { constants, createHash, type KeyObject, publicEncrypt, timingSafeEqual } from 'node:crypto'
import type { Digest } from '../x509/algorithm.ts'

/** Trailers and the digests they stand for (ISO/IEC 9796-2, and Doc 9303-11, section 6.1). One byte alone is SHA-1. */
const ONE_BYTE_TRAILER = 0xbc
const TWO_BYTE_TRAILER = 0xcc
const DIGEST_OF_TRAILER = new Map<number, Digest>([
  [0x34, 'sha256'],
  [0x35, 'sha512'],
  [0x36, 'sha384'],
  [0x38, 'sha224'],
])

/**
 * Whether a signature of ISO/IEC 9796-2, digital signature scheme 1, with partial recovery, covers a message that ends
 * in `rest`. The signature gives back the message's beginning, which the chip chose.
 */
export function isRecoverySignature(
  rest: Buffer,
  { signature, key }: { signature: Buffer; key: KeyObject },
): boolean {
  const { modulusLength: modulusBits = 0 } = key.asymmetricKeyDetails ?? {}
  // Shorter moduli by single bits would shift every field; no chip has one.
  if (
    key.asymmetricKeyType !== 'rsa' ||
    modulusBits % 8 !== 0 ||
    signature.length !== modulusBits / 8
  )
    return false
  const recovered = open(signature, key)
  return (
    recovered !== undefined &&
    [recovered, complement(recovered, key)].some((block) => holds(block, rest))
  )
}

function open(signature: Buffer, key: KeyObject): Buffer | undefined {
  try {
    return publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, signature)
  } catch {
    // A number that is not below the modulus.
    return undefined
  }
}

/** A signer may give n - s in place of s, whichever is smaller (ISO/IEC 9796-2, annex B); then this is the block. */
function complement(block: Buffer, key: KeyObject): Buffer {
  const modulus = BigInt(
    `0x${Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex')}`,
  )
  const value = modulus - BigInt(`0x${block.toString('hex')}`)
  return Buffer.from(value.toString(16).padStart(block.length * 2, '0'), 'hex')
}

function holds(block: Buffer, rest: Buffer): boolean {
  // 1. The trailer names the digest.
  const [last = 0, beforeLast = 0] = [block.at(-1), block.at(-2)]
  const digest =
    last === ONE_BYTE_TRAILER
      ? 'sha1'
      : last === TWO_BYTE_TRAILER
        ? DIGEST_OF_TRAILER.get(beforeLast)
        : undefined
  if (digest === undefined) return false
  // 2. The header says that a part is recovered. Were it all, the challenge would be covered by nothing.
  const from = afterHeader(block)
  if (from === undefined) return false
  // 3. Between them lie the recovered part and the digest of the whole message.
  const end = block.length - (last === ONE_BYTE_TRAILER ? 1 : 2)
  const digestFrom = end - DIGEST_BYTES[digest]
  if (digestFrom < from) return false
  const computed = createHash(digest).update(block.subarray(from, digestFrom)).update(rest).digest()
  return timingSafeEqual(computed, block.subarray(digestFrom, end))
}

const DIGEST_BYTES: Readonly<Record<Digest, number>> = {
  sha1: 20,
  sha224: 28,
  sha256: 32,
  sha384: 48,
  sha512: 64,
}

/** Nibbles: 6, then B as often as there is room to fill, then A. */
function afterHeader(block: Buffer): number | undefined {
  if (block[0] === 0x6a) return 1
  if (block[0] !== 0x6b) return undefined
  let at = 1
  while (block[at] === 0xbb) at++
  return block[at] === 0xba ? at + 1 : undefined
}
