import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { build } from 'esbuild'
import { type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { bundle } from '../build/bundle.ts'

/** Set it to a folder to keep a picture of every screen. */
const PICTURES = process.env.SCREENSHOTS_DIR
const axe = createRequire(import.meta.url).resolve('axe-core')
const browserTest = { skip: browserMissing, timeout: 120_000 }

let browser: Browser
let style: string
let script: string
before(async () => {
  if (browserMissing) return
  browser = await openBrowser()
  style = (await bundle()).style
  script = await galleryScript()
})
after(async () => browser?.close())

/** The view with every screen of the page, in a language or in the pseudo-locale. */
async function galleryScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'gallery/gallery.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    conditions: ['@bonded/source'],
    tsconfigRaw: {},
  })
  return outputFiles[0]?.text ?? ''
}

async function open(options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ hasTouch: true, isMobile: true, ...options })
  const page = await context.newPage()
  await page.setContent(
    `<!doctype html><html lang="en"><head><title>x</title><meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style></head><body><main></main></body></html>`,
  )
  await page.addScriptTag({ content: script })
  await page.addScriptTag({ path: axe })
  return page
}

const looks = {
  light: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  dark: { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  'forced colors': { viewport: { width: 390, height: 844 }, forcedColors: 'active' },
  'small phone': { viewport: { width: 320, height: 568 }, colorScheme: 'light' },
} as const

for (const [name, options] of Object.entries(looks))
  test(`every screen passes axe and fits its width: ${name}`, browserTest, async () => {
    const page = await open(options)
    for (const screen of await screensOf(page)) {
      await draw(page, screen, 'en')
      await picture(page, `${name}-${screen}`)
      const violations = await page.evaluate(
        `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
          violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))`,
      )
      assert.deepEqual(violations, [], screen)
      assert.equal(await overflow(page), 0, `${screen} overflows`)
    }
    await page.context().close()
  })

test('longer words overflow nowhere at 320 px', browserTest, async () => {
  const page = await open({ viewport: { width: 320, height: 568 } })
  for (const screen of await screensOf(page)) {
    await draw(page, screen, 'pseudo')
    await picture(page, `pseudo-${screen}`)
    assert.equal(await overflow(page), 0, `${screen} overflows`)
  }
  await page.context().close()
})

const screensOf = (page: Page) => page.evaluate<string[]>('Object.keys(gallery.screens)')
const draw = (page: Page, screen: string, language: 'en' | 'pseudo') =>
  page.evaluate(`gallery.draw(${JSON.stringify(screen)}, ${JSON.stringify(language)})`)
const overflow = (page: Page) =>
  page.evaluate<number>(
    'Math.max(0, document.scrollingElement.scrollWidth - document.documentElement.clientWidth)',
  )

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({
    path: join(PICTURES, `${name.replaceAll(' ', '-')}.png`),
    fullPage: true,
  })
}
