import { spawnSync } from 'node:child_process'
import { PNG } from 'pngjs'
import decodeQR from 'qr/decode.js'

/** Reads the text of the QR code from the pixels of a screenshot, as a phone would. */
export function readQr(png: Buffer): string {
  const { width, height, data } = PNG.sync.read(png)
  return decodeQR({ width, height, data })
}

/** Why the second decoder cannot run here; false when it can. */
export const noZbar = spawnSync('zbarimg', ['--version']).error
  ? 'NO ZBARIMG: the QR code is read by ONE decoder only. Install it: apt-get install zbar-tools.'
  : false

/** Reads the QR code with zbarimg, an implementation that shares no code with the other decoder. */
export function readQrWithZbar(png: Buffer): string {
  const { stdout, stderr } = spawnSync('zbarimg', ['--quiet', '--raw', '--oneshot', '-'], {
    input: png,
    encoding: 'utf8',
  })
  return stdout.trimEnd() || stderr
}
