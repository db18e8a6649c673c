import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { isDisplayText } from '@bonded/contract'
import { displayText } from '@bonded/integrator'
import { requestText } from '@bonded/integrator/approval'
import type { Browser, Page } from 'playwright-core'
import { HONEST_TEXTS } from '../packages/integrator/tests/approval/honest-texts.ts'
import { ATTACKS } from '../packages/integrator/tests/approval/lookalike-attacks.ts'
import { buildGallery } from '../packages/phone-page/tests/open-gallery.ts'
import { browserMissing, openBrowser, phoneFontMissing } from './browser.ts'
import { JOINED_NAMES } from './harness/joined-names.ts'

/** Where the run keeps the pictures, so that a reviewer can judge them. */
const PICTURES =
  process.env.SCREENSHOTS_DIR ?? join(import.meta.dirname, '../node_modules/.cache/pictures')
/** A text has at most 200 lines and 8,192 bytes. */
const TEXTS_IN_A_PICTURE = 60
const fontTest = { skip: browserMissing || phoneFontMissing, timeout: 600_000 }
const JOINERS = ['\u200c', '\u200d']
let browser: Browser
let page: Page
before(async () => {
  if (fontTest.skip) return
  browser = await openBrowser()
  page = await browser.newPage()
})
after(async () => browser?.close())

/** Which pairs of texts the browser draws with other pixels. */
function drawnApart(pairs: readonly (readonly [string, string])[]): Promise<[string, string][]> {
  return page.evaluate(`(() => {
    const draw = (text) => {
      const canvas = document.createElement('canvas')
      Object.assign(canvas, { width: 900, height: 96 })
      const context = canvas.getContext('2d', { willReadFrequently: true })
      context.font = '40px system-ui'
      context.fillText(text, 450 * (context.direction === 'rtl'), 60)
      return new Uint32Array(context.getImageData(0, 0, 900, 96).data.buffer)
    }
    return ${JSON.stringify(pairs)}.filter(([one, other]) => {
      const drawn = draw(other)
      return draw(one).some((pixel, index) => pixel !== drawn[index])
    })
  })()`)
}

test(
  'displayText returns a text that is drawn as its input, in scripts with joiners',
  fontTest,
  async () => {
    // Each name, and each with a joiner at every place, as a keyboard or a copied page leaves them.
    const typed = JOINED_NAMES.flatMap(([, name]) => {
      const letters = Array.from(name)
      return [
        name,
        ...JOINERS.flatMap((joiner) =>
          [...letters, ''].map((_, at) => letters.toSpliced(at, 0, joiner).join('')),
        ),
      ]
    })
    const pairs = typed.map((text) => [text, displayText(text).text] as const)
    const changed = pairs.filter(([text, shown]) => text !== shown)
    assert.ok(changed.length > 100)
    assert.deepEqual(
      (await drawnApart(changed)).map((pair) => pair.map(escaped)),
      [],
    )
  },
)

test('the pictures show a joiner that matters', fontTest, async () => {
  for (const name of ['র\u200d্যাব', 'അനില്\u200d', 'ശ്\u200cര', 'می\u200cهن', 'ශ්\u200dරී'])
    assert.equal((await drawnApart([[name, name.replace(/[\u200c\u200d]/, '')]])).length, 1, name)
})

test('accepts every name whose spelling has a joiner or a variation selector', () => {
  for (const [language, name] of JOINED_NAMES) {
    assert.equal(isDisplayText(name), true, `${language}: ${escaped(name)}`)
    assert.deepEqual(displayText(name), { text: name, changes: [] }, language)
  }
})

test(
  'the phone page draws honest texts as they are, and imitations with escapes',
  fontTest,
  async (t) => {
    const phone = await (await buildGallery()).open(browser, {
      // No action of the page covers a line of a picture.
      viewport: { width: 390, height: 4_000 },
    })
    mkdirSync(PICTURES, { recursive: true })
    const honest = Object.values(HONEST_TEXTS).flat()
    for (const [name, pairs] of [
      ['honest', honest.map((text) => [text, text] as const)],
      ['attacks', ATTACKS],
    ] as const) {
      for (let from = 0; from < pairs.length; from += TEXTS_IN_A_PICTURE) {
        const drawn = pairs.slice(from, from + TEXTS_IN_A_PICTURE)
        const text = requestText({ texts: drawn.map(([given]) => given) })
        await phone.evaluate(`gallery.screens['request-text'].screen.request.text = ${JSON.stringify(text)}
        gallery.draw('request-text', null)`)
        const lines = await phone.locator('.text li').allTextContents()
        assert.deepEqual(lines, text.split('\n'))
        assert.deepEqual(
          lines.slice(2, -2).map((line) => line.trim().replace(/^"|",?$/g, '')),
          drawn.map(([, written]) => written),
        )
        const path = join(PICTURES, `texts-${name}-${from / TEXTS_IN_A_PICTURE + 1}.png`)
        await phone.locator('.text').screenshot({ path })
        t.diagnostic(path)
      }
    }
    await phone.context().close()
  },
)

function escaped(text: string): string {
  return text.replace(/\p{Cf}|\p{M}/gu, (part) => `\\u{${part.codePointAt(0)?.toString(16)}}`)
}
