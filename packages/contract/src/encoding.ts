const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SEXTETS = new Map(BASE64URL.split('').map((digit, value) => [digit, value]))

/**
 * Bytes as base64url without padding (RFC 4648 section 5).
 *
 * @example encodeBase64url(new Uint8Array([255, 239])) // '_-8'
 */
export function encodeBase64url(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b, c] = bytes.subarray(at, at + 3)
    text += digit(a >> 2) + digit(((a & 3) << 4) | ((b ?? 0) >> 4))
    if (b !== undefined) text += digit(((b & 15) << 2) | ((c ?? 0) >> 6))
    if (c !== undefined) text += digit(c & 63)
  }
  return text
}

/**
 * The bytes of a base64url text, or undefined for anything an encoder would not have written:
 * padding, characters outside the alphabet, or loose bits at the end. One value has one spelling.
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 === 1) return undefined
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4))
  let bits = 0
  let held = 0
  let at = 0
  for (const character of text) {
    const sextet = SEXTETS.get(character)
    if (sextet === undefined) return undefined
    bits = ((bits << 6) | sextet) & 0xffff
    held += 6
    if (held >= 8) {
      held -= 8
      bytes[at++] = (bits >> held) & 0xff
    }
  }
  return (bits & ((1 << held) - 1)) === 0 ? bytes : undefined
}

/**
 * A number of up to 128 bits as base62 digits, most significant first, left-padded with `0`.
 *
 * @param length digits wanted; the caller knows how many its bytes need
 */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  const words = bigEndianWords(bytes)
  let text = ''
  // Long division by 62. What is left over and the next word together stay below 2^38, so plain numbers do.
  while (words.some((word) => word > 0)) {
    let rest = 0
    for (const [at, word] of words.entries()) {
      const value = rest * 2 ** 32 + word
      words[at] = Math.floor(value / 62)
      rest = value % 62
    }
    text = (BASE62[rest] ?? '') + text
  }
  return text.padStart(length, '0')
}

function bigEndianWords(bytes: Uint8Array): number[] {
  const words: number[] = []
  for (let end = bytes.length; end > 0; end -= 4) {
    let word = 0
    for (const byte of bytes.subarray(Math.max(0, end - 4), end)) word = word * 256 + byte
    words.unshift(word)
  }
  return words
}

/** CRC-32 (IEEE 802.3) of an ASCII text: how a scanner tells a leaked credential from a look-alike, offline. */
export function crc32(text: string): number {
  let crc = 0xffffffff
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}

function digit(sextet: number): string {
  return BASE64URL[sextet] ?? ''
}
