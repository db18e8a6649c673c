import { problemOfSvg } from './svg.ts'

/** The image of a tenant, as the service stores and serves it. */
export interface Logo {
  readonly type: 'png' | 'svg'
  readonly bytes: Uint8Array
}

/** A logo is drawn at most 24 px high. This is enough for three times that, and for no more. */
export const MAX_LOGO_BYTES = 32_768
/** A browser decodes every pixel, so a small file of a huge image would slow every page. */
export const MAX_LOGO_PIXELS = 1_024

const PNG_SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10]
/** Chunks that change nothing but the pixels of one still image. */
const PNG_CHUNKS = /^(?:IHDR|PLTE|IDAT|IEND|tRNS|gAMA|sRGB|cHRM|iCCP|sBIT|bKGD|pHYs|tIME)$/

/**
 * Reads a logo: a PNG of one still image, or an SVG that only draws. Returns what is wrong with any
 * other file. A browser shows both as an image, in which no script runs; the rules also hold for a
 * user who opens the address itself.
 */
export function readLogo(bytes: Uint8Array): Logo | { readonly problem: string } {
  if (bytes.length > MAX_LOGO_BYTES)
    return { problem: `the logo must have at most ${MAX_LOGO_BYTES} bytes` }
  const isPng = PNG_SIGNATURE.every((byte, index) => bytes[index] === byte)
  const problem = isPng ? problemOfPng(bytes) : problemOfText(bytes)
  return problem === undefined ? { type: isPng ? 'png' : 'svg', bytes } : { problem }
}

function problemOfPng(bytes: Uint8Array): string | undefined {
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

function problemOfText(bytes: Uint8Array): string | undefined {
  try {
    return problemOfSvg(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return 'the logo must be a PNG or an SVG'
  }
}
