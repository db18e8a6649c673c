import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { directionOf } from '@bonded/contract'
import { build } from 'esbuild'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { LONGEST, longestOf, measured } from '../../../tests/harness/measured-languages.ts'
import { TRANSLATOR } from '../../../tests/translator.ts'
import { bundle } from '../build/bundle.ts'
import en from '../src/frame/en.json' with { type: 'json' }
import { LANGUAGES } from '../src/messages/language.ts'

/** Set it to a folder to keep a picture of every screen. */
const PICTURES = process.env.SCREENSHOTS_DIR
const ROOT = join(import.meta.dirname, '..')
const axe = createRequire(import.meta.url).resolve('axe-core')
const browserTest = { skip: browserMissing, timeout: 600_000 }
/** What a widget of 360 by 168 px, and one on a phone at 200 % zoom, leaves to the frame. */
const COMPACT = { width: 344, height: 140 }
/** The same on the smallest phone with a large text. */
const SMALLEST = { width: 180, height: 150 }
const NARROW = { width: 153, height: 195 }
const REQUEST = { tenant_name: 'Harbour Bank', amount: '€12,500.00' }
const SCREENS = {
  confirm: { name: 'confirm', request: REQUEST, note: null },
  retry: { name: 'confirm', request: REQUEST, note: 'retry' },
  again: { name: 'confirm', request: REQUEST, note: 'offline' },
  confirming: { name: 'confirming', request: REQUEST },
  ...Object.fromEntries(
    ['opening', 'offline', 'done', 'ended', 'unsupported', 'misplaced'].map((name) => [
      name,
      { name },
    ]),
  ),
}
const OTHERS = JSON.parse(readFileSync(join(ROOT, 'frame-words.json'), 'utf8')) as Record<
  string,
  typeof en
>
const WORDS = new Map<string, object>([
  ['en', en],
  ...Object.entries(OTHERS),
  [LONGEST, longestOf([en, ...Object.values(OTHERS)])],
])
const MEASURED = measured(['en', ...LANGUAGES])
const GALLERY = `
import { drawFrame } from './src/frame/draw.ts'
const acts = { onConfirm() {}, onReopen() {} }
globalThis.draw = (screen, { tag, dir, words, title }) => {
  Object.assign(document.documentElement, { lang: tag, dir })
  const look = { ...acts, words, languages: [tag], titleOf: () => title }
  drawFrame(document.querySelector('main'), screen, look)
}`

let browser: Browser
let style: string
let script: string
before(async () => {
  if (browserMissing) return
  browser = await openBrowser()
  style = (await bundle()).frame.style
  const { outputFiles } = await build({
    stdin: { contents: GALLERY, resolveDir: ROOT },
    bundle: true,
    write: false,
    format: 'iife',
    conditions: ['@bonded/source'],
    define: { BONDED_FRAME_WORDS: '{}' },
    tsconfigRaw: {},
  })
  script = outputFiles[0]?.text ?? ''
})
after(async () => browser?.close())

async function open(options: BrowserContextOptions): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage()
  await page.setContent(
    `<!doctype html><html lang="en"><head><title>x</title><style>${style}</style></head><body><main></main></body></html>`,
  )
  await page.addScriptTag({ content: script })
  return page
}

/** Draws a screen. Returns the excess height and width, and whether the button is in view. */
async function draw(page: Page, screen: string, tag: string, title = 'Credit application') {
  const drawn = SCREENS[screen as keyof typeof SCREENS]
  const language = { tag, dir: directionOf(tag), words: WORDS.get(tag), title }
  const found = await page.evaluate<[number, number, boolean]>(`(() => {
    draw(${JSON.stringify(drawn)}, ${JSON.stringify(language)})
    const { scrollHeight, scrollWidth } = document.scrollingElement
    const button = document.querySelector('button')?.getBoundingClientRect()
    const isInView = button === undefined || (button.top >= 0 && button.bottom <= innerHeight)
    return [scrollHeight - innerHeight, scrollWidth - innerWidth, isInView]
  })()`)
  if (PICTURES !== undefined) {
    mkdirSync(PICTURES, { recursive: true })
    await page.screenshot({ path: join(PICTURES, `frame-${tag}-${screen}.png`) })
  }
  return found
}

test('every screen fits the smallest widget in every language', browserTest, async () => {
  const page = await open({ viewport: COMPACT })
  for (const tag of MEASURED)
    for (const screen of Object.keys(SCREENS))
      assert.deepEqual(await draw(page, screen, tag), [0, 0, true], `${screen} in ${tag}`)
  await page.context().close()
})

test('a request and a hint of two lines each fit the smallest widget', browserTest, async () => {
  const page = await open({ viewport: COMPACT })
  const title = 'Antrag auf einen Ratenkredit für Privatkunden · Absenden'
  for (const screen of ['confirm', 'retry'])
    assert.deepEqual(await draw(page, screen, 'de', title), [0, 0, true], screen)
  await page.context().close()
})

test(
  'the button shows, and nothing is too wide, at 200 % zoom on a phone',
  browserTest,
  async () => {
    const page = await open({ viewport: NARROW, hasTouch: true })
    for (const tag of MEASURED)
      for (const screen of Object.keys(SCREENS))
        assert.deepEqual((await draw(page, screen, tag)).slice(1), [0, true], `${screen} in ${tag}`)
    await page.context().close()
  },
)

test('no text is drawn under the button in the smallest frame', browserTest, async () => {
  for (const options of [{ viewport: SMALLEST }, { viewport: SMALLEST, hasTouch: true }]) {
    const page = await open(options)
    for (const tag of MEASURED)
      for (const screen of ['confirm', 'retry', 'confirming', 'offline']) {
        await draw(page, screen, tag, 'Antrag auf einen Ratenkredit')
        const covered = await page.evaluate(`(() => {
          const button = document.querySelector('button').getBoundingClientRect()
          return Array.from(document.querySelectorAll('h1, .request'), (text) => {
            const { top, bottom, height } = text.getBoundingClientRect()
            return height > 1 && top < button.bottom && bottom > button.top + 1
          })
        })()`)
        assert.ok(!(covered as boolean[]).includes(true), `${screen} in ${tag}`)
      }
    await page.context().close()
  }
})

test('repeats the amount that the phone has approved', browserTest, async () => {
  const page = await open({ viewport: COMPACT })
  for (const screen of ['confirm', 'retry', 'confirming']) {
    await draw(page, screen, 'ar')
    assert.equal(await page.locator('.request strong').textContent(), REQUEST.amount)
  }
  await page.context().close()
})

test('a translator changes nothing of the request', browserTest, async () => {
  const page = await open({ viewport: COMPACT })
  for (const screen of ['confirm', 'retry', 'confirming']) {
    await draw(page, screen, 'en')
    await page.evaluate(`(${TRANSLATOR})(document.documentElement)`)
    const text = (await page.locator('main').textContent()) ?? ''
    for (const said of [REQUEST.tenant_name, REQUEST.amount, 'Credit application'])
      assert.ok(text.includes(said), `${screen}: ${text}`)
    assert.ok(!text.includes(en.confirm))
  }
  await page.context().close()
})

test('takes the accent of the widget, within the bounds of its contrast', browserTest, async () => {
  const page = await open({ viewport: COMPACT })
  await draw(page, 'confirm', 'en')
  for (const [accent, isGiven] of [
    ['#1a5c2e', true],
    ['#ffff00', false],
  ] as const) {
    const shown = await page.evaluate<string>(`(() => {
      document.documentElement.style.setProperty('--given', '${accent}')
      const canvas = document.createElement('canvas').getContext('2d')
      canvas.fillStyle = getComputedStyle(document.querySelector('button')).backgroundColor
      canvas.fillRect(0, 0, 1, 1)
      const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data
      return '#' + [r, g, b].map((part) => part.toString(16).padStart(2, '0')).join('')
    })()`)
    assert.equal(shown === accent, isGiven, `${accent} is drawn as ${shown}`)
  }
  await page.context().close()
})

for (const [look, options] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  'forced colors': { forcedColors: 'active' },
} as const))
  test(`axe finds nothing in any screen of the frame in ${look}`, browserTest, async () => {
    const page = await open({ viewport: COMPACT, ...options })
    await page.addScriptTag({ path: axe })
    // A look changes colors only, in every language the same.
    const rules = look === 'light' ? '' : "runOnly: ['color-contrast', 'link-in-text-block']"
    for (const tag of look === 'light' ? ['en', 'de', 'ar'] : ['en'])
      for (const screen of Object.keys(SCREENS)) {
        await draw(page, screen, tag)
        const violations = await page.evaluate(
          `axe.run(document, { resultTypes: ['violations'], ${rules || 'rules: { region: { enabled: false } }'} })
            .then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))`,
        )
        assert.deepEqual(violations, [], `${screen} in ${tag}`)
      }
    await page.context().close()
  })
