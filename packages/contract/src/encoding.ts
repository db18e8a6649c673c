const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The value of each base64url digit by its character code; 255 for every other character. */
const SEXTETS = Uint8Array.from({ length: 128 }, (_, code) =>
  BASE64URL.indexOf(String.fromCharCode(code)),
)

/**
 * Bytes as base64url without padding (RFC 4648 section 5).
 *
 * @example encodeBase64url(new Uint8Array([255, 239])) // '_-8'
 */
export function encodeBase64url(bytes: Uint8Array): string {
  let text = ''
  for (let index = 0; index < bytes.length; index += 3) {
    const [a = 0, b, c] = bytes.subarray(index, index + 3)
    text += digit(a >> 2) + digit(((a & 3) << 4) | ((b ?? 0) >> 4))
    if (b !== undefined) text += digit(((b & 15) << 2) | ((c ?? 0) >> 6))
    if (c !== undefined) text += digit(c & 63)
  }
  return text
}

/**
 * The bytes of a base64url text, or undefined for anything an encoder would not have written:
 * padding, characters outside the alphabet, or loose bits at the end. Each value has exactly one
 * form.
 */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 === 1) return undefined
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4))
  let bits = 0
  let held = 0
  let at = 0
  for (let place = 0; place < text.length; place++) {
    const sextet = SEXTETS[text.charCodeAt(place)] ?? 255
    if (sextet === 255) return undefined
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
  let first = words.findIndex((word) => word > 0)
  if (first === -1) return '0'.repeat(length)
  // Long division by 62³, three digits at a time. Remainder and next word stay below 2^50.
  while (first < words.length) {
    let remainder = 0
    for (let index = first; index < words.length; index++) {
      const value = remainder * 2 ** 32 + (words[index] ?? 0)
      // By the quotient: a remainder of two doubles is a call of a C function.
      const quotient = Math.floor(value / 62 ** 3)
      words[index] = quotient
      remainder = value - quotient * 62 ** 3
    }
    text = `${BASE62[Math.floor(remainder / 62 ** 2)]}${BASE62[Math.floor(remainder / 62) % 62]}${BASE62[remainder % 62]}${text}`
    while (first < words.length && words[first] === 0) first++
  }
  let zeros = 0
  while (text.length - zeros > length && text.charCodeAt(zeros) === 0x30) zeros++
  return text.slice(zeros).padStart(length, '0')
}

/** A plain list: four numbers cost less there than the memory behind a typed one. */
function bigEndianWords(bytes: Uint8Array): number[] {
  const words: number[] = []
  let word = 0
  for (let index = 0; index < bytes.length; index++) {
    word = word * 256 + (bytes[index] ?? 0)
    if ((bytes.length - index) % 4 !== 1) continue
    words.push(word)
    word = 0
  }
  return words
}

// A script that needs no checksum does not contain the table.
const CRC_OF_BYTE = /* @__PURE__ */ Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  return crc
})

/**
 * CRC-32 (IEEE 802.3) of an ASCII text. A scanner recognizes a leaked credential by it, offline.
 */
export function crc32(text: string): number {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index++)
    crc = (crc >>> 8) ^ (CRC_OF_BYTE[(crc ^ text.charCodeAt(index)) & 0xff] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

function digit(sextet: number): string {
  return BASE64URL[sextet] ?? ''
}
