import { PNG } from 'pngjs'
import decodeQR from 'qr/decode.js'

/** Reads the text of the QR code from the pixels of a screenshot, as a phone would. */
export function readQr(png: Buffer): string {
  const { width, height, data } = PNG.sync.read(png)
  return decodeQR({ width, height, data })
}
