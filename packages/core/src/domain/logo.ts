/** A logo is drawn at most 24 px high. This is enough for three times that, and for no more. */
export const MAX_LOGO_BYTES = 32_768
/** A browser decodes every pixel, so a small file of a huge image would slow every page. */
export const MAX_LOGO_PIXELS = 1_024

const PNG_SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10]
/** Chunks that change nothing but the pixels of one still image. */
const PNG_CHUNKS = /^(?:IHDR|PLTE|IDAT|IEND|tRNS|gAMA|sRGB|cHRM|iCCP|sBIT|bKGD|pHYs|tIME)$/

/** Converts an SVG to a PNG for screens of every density. `librsvg2-bin` on Debian has it. */
export const CONVERT_SVG = 'rsvg-convert --height 72 --output logo.png logo.svg'

/** Returns why a file cannot be a logo: it must be a PNG of one still image. */
export function problemOfLogo(bytes: Uint8Array): string | undefined {
  if (!PNG_SIGNATURE.every((byte, index) => bytes[index] === byte))
    return `the logo must be a PNG. Convert an SVG: ${CONVERT_SVG}`
  if (bytes.length > MAX_LOGO_BYTES) return `the logo must have at most ${MAX_LOGO_BYTES} bytes`
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const types: string[] = []
  let at = PNG_SIGNATURE.length
  while (at + 12 <= bytes.length) {
    types.push(String.fromCharCode(...bytes.subarray(at + 4, at + 8)))
    at += 12 + view.getUint32(at)
  }
  if (at !== bytes.length || types[0] !== 'IHDR' || types.indexOf('IEND') !== types.length - 1)
    return 'the logo is not a complete PNG'
  const other = types.find((type) => !PNG_CHUNKS.test(type))
  if (other !== undefined)
    return `the PNG has a chunk ${JSON.stringify(other)}: save it as a still image without metadata`
  const sides = [view.getUint32(16), view.getUint32(20)]
  return sides.every((side) => side >= 1 && side <= MAX_LOGO_PIXELS)
    ? undefined
    : `the logo must have 1 to ${MAX_LOGO_PIXELS} pixels a side`
}
