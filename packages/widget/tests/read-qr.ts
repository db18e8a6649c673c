import { PNG } from 'pngjs'
import decodeQR from 'qr/decode.js'

/** The text of the QR code in a screenshot, read from its pixels as a phone would. */
export function readQr(png: Buffer): string {
  const { width, height, data } = PNG.sync.read(png)
  return decodeQR({ width, height, data })
}
