import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PNG } from 'pngjs'
import type { Page } from 'playwright-core'

const IMAGES = resolve(import.meta.dirname, '../docs/images')
/** `WRITE_IMAGES=1` writes the images of the documents. */
export const isWritingImages = process.env.WRITE_IMAGES === '1'
/** Colors are rounded to multiples of this, so that an image stays small. */
const COLOR_STEP = 5

/**
 * Writes an image of the documents, when the run is asked to.
 *
 * @param height of the image; without it, the whole window
 */
export async function writeImage(page: Page, name: string, height?: number): Promise<void> {
  if (!isWritingImages) return
  await page.evaluate('scrollTo(0, 0)')
  const { width = 0 } = page.viewportSize() ?? {}
  const clip = height === undefined ? {} : { clip: { x: 0, y: 0, width, height } }
  const image = PNG.sync.read(await page.screenshot(clip))
  for (const [index, value] of image.data.entries())
    image.data[index] = Math.min(255, Math.round(value / COLOR_STEP) * COLOR_STEP)
  const options = { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 } as const
  writeFileSync(join(IMAGES, `${name}.png`), PNG.sync.write(image, options))
}
