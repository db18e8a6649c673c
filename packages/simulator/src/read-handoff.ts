import { type Handoff, parseHandoff } from '@bonded/contract'
import { PNG } from 'pngjs'
import decodeQR from 'qr/decode.js'
import { PhoneError } from '@bonded/phone'
import { rasterizeSvg } from './svg-raster.ts'

/** The input of a phone's camera: a payload or link, the text of an SVG, or the bytes of a PNG. */
export type HandoffInput = string | Uint8Array

const PNG_SIGNATURE = '89504e470d0a1a0a'
/** The size of a screenshot of a large screen. A small file could otherwise allocate gigabytes. */
const MAX_PIXELS = 64_000_000
/** Time limit for the retries of the decoder. */
const DECODE_TIME_LIMIT_MS = 2_000

/**
 * Reads a session from whatever shows it.
 *
 * @throws {PhoneError} `handoff_unreadable`; `reason` is `no_code` (no QR code found), `not_a_bond`
 * (another text), `not_an_image`
 * @example readHandoff(readFileSync('screenshot.png')).session_id // 'sess_…'
 */
export function readHandoff(input: HandoffInput): Handoff {
  const text = typeof input === 'string' ? readText(input) : readBytes(input)
  const handoff = parseHandoff(text)
  if (handoff === undefined) throw new PhoneError('handoff_unreadable', { reason: 'not_a_bond' })
  return handoff
}

function readBytes(bytes: Uint8Array): string {
  const isPng = Buffer.from(bytes.subarray(0, 8)).toString('hex') === PNG_SIGNATURE
  return isPng ? readPng(Buffer.from(bytes)) : readText(Buffer.from(bytes).toString('utf8'))
}

function readText(text: string): string {
  if (!/^\s*(?:<\?xml|<svg|<!--)/.test(text)) return text
  const raster = rasterizeSvg(text)
  if (raster === undefined) throw new PhoneError('handoff_unreadable', { reason: 'not_an_image' })
  const { width, height, luma } = raster
  const data = new Uint8Array(luma.length * 4)
  for (const [index, grey] of luma.entries()) data.set([grey, grey, grey, 255], index * 4)
  return readPixels({ width, height, data })
}

function readPng(bytes: Buffer): string {
  // Check width and height in the header before allocating memory of that size.
  if (bytes.length < 24 || bytes.readUInt32BE(16) * bytes.readUInt32BE(20) > MAX_PIXELS) {
    throw new PhoneError('handoff_unreadable', { reason: 'not_an_image' })
  }
  let png: PNG
  try {
    png = PNG.sync.read(bytes)
  } catch (cause) {
    throw new PhoneError('handoff_unreadable', { reason: 'not_an_image', cause })
  }
  return readPixels(png)
}

function readPixels({
  width,
  height,
  data,
}: {
  width: number
  height: number
  data: Uint8Array
}): string {
  try {
    return decodeQR(
      { width, height, data },
      { format: 'RGBA', effort: 4, timeLimit: DECODE_TIME_LIMIT_MS },
    )
  } catch (cause) {
    throw new PhoneError('handoff_unreadable', { reason: 'no_code', cause })
  }
}
