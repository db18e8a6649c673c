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

/** Elements that draw. None runs code, animates, links, or loads anything. */
const SVG_ELEMENTS = new Set(
  `svg g defs symbol use title desc path rect circle ellipse line polyline polygon clipPath mask
  linearGradient radialGradient stop`.split(/\s+/),
)

/**
 * Reads a logo: a PNG of one still image, or an SVG that only draws. Returns what is wrong with any
 * other file. A browser shows both as an image, in which no script runs; the rules also hold for a
 * user who opens the address itself.
 */
export function readLogo(bytes: Uint8Array): Logo | { readonly problem: string } {
  if (bytes.length > MAX_LOGO_BYTES)
    return { problem: `the logo must have at most ${MAX_LOGO_BYTES} bytes` }
  const isPng = PNG_SIGNATURE.every((byte, index) => bytes[index] === byte)
  const problem = isPng ? problemOfPng(bytes) : problemOfSvg(bytes)
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

function problemOfSvg(bytes: Uint8Array): string | undefined {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return 'the logo must be a PNG or an SVG'
  }
  const drawing = text
    .replace(/^<\?xml[^<>]*\?>/, '')
    .replaceAll(/<!--(?:(?!--)[^])*-->/g, '')
    .trim()
  if (!/^<svg[\s>]/.test(drawing) || !drawing.endsWith('</svg>'))
    return 'the logo must be a PNG or an SVG'
  const element = [...drawing.matchAll(/<\/?([^\s/>]*)/g)].find(
    ([, name]) => !SVG_ELEMENTS.has(name!),
  )
  if (element !== undefined)
    return `the SVG has an element ${JSON.stringify(element[1])}: save it as plain paths`
  // Escapes and references could hide what the next two rules look for.
  if (/[&\\]/.test(drawing)) return 'the SVG has an entity or an escape: save it as plain paths'
  if (/[\s"'/]on\w+\s*=/i.test(drawing)) return 'the SVG has an event handler'
  return /(?:href\s*=\s*["']?\s*(?!["'\s#])|url\s*\(\s*["']?\s*(?!["'\s#])|@import|javascript:)/i.test(
    drawing,
  )
    ? 'the SVG names another resource: only references that begin with # are allowed'
    : undefined
}
