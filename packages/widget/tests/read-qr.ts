import { spawnSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { PNG } from 'pngjs'
import decodeQR from 'qr/decode.js'

interface Picture {
  readonly width: number
  readonly height: number
  readonly data: Buffer
}

/**
 * Reads the text of the QR code from the pixels of a screenshot, as a phone would. The decoder
 * finds the grid of some codes only in a larger picture, to which a phone would move closer.
 */
export function readQr(png: Buffer): string {
  const picture: Picture = PNG.sync.read(png)
  try {
    return decodeQR(picture)
  } catch {
    return decodeQR(doubled(picture))
  }
}

/** More pictures than a browser takes to draw its latest layers. */
const PICTURES = 20

/**
 * Reads the QR code from the page, from several pictures as a camera does: one may be taken before
 * the browser has drawn the latest layers.
 */
export async function readQrFrom(page: Page, options?: { fullPage: boolean }): Promise<string> {
  for (let taken = 1; ; taken++) {
    const png = await page.screenshot(options)
    try {
      return readQr(png)
    } catch (failure) {
      if (taken === PICTURES) throw failure
    }
  }
}

/** The picture with four pixels for each. */
function doubled({ width, height, data }: Picture): Picture {
  const larger = new PNG({ width: 2 * width, height: 2 * height })
  for (let y = 0; y < 2 * height; y++)
    for (let x = 0; x < 2 * width; x++) {
      const from = 4 * ((y >> 1) * width + (x >> 1))
      data.copy(larger.data, 4 * (y * 2 * width + x), from, from + 4)
    }
  return larger
}

/**
 * The light border of a QR code in modules, at its left, top, right and bottom. ISO 18004 requires
 * four. The upper side of a finder pattern, which begins at the top left, has seven modules.
 *
 * @param png a picture of the code with its border, and nothing around
 */
export function quietZoneOf(png: Buffer): readonly number[] {
  const { width, height, data }: Picture = PNG.sync.read(png)
  const isDark = (x: number, y: number) => (data[4 * (y * width + x)] ?? 0) < 0x80
  const columns = Array.from({ length: width }, (_, x) => x)
  const rows = Array.from({ length: height }, (_, y) => y)
  const darkRows = rows.filter((y) => columns.some((x) => isDark(x, y)))
  const darkColumns = columns.filter((x) => rows.some((y) => isDark(x, y)))
  const [left = 0, right = 0] = [darkColumns[0], darkColumns.at(-1)]
  const [top = 0, bottom = 0] = [darkRows[0], darkRows.at(-1)]
  const side = columns.findIndex((x) => x > left && !isDark(x, top + 1)) - left
  return [left, top, width - 1 - right, height - 1 - bottom].map((px) =>
    Math.round((px * 7) / side),
  )
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
