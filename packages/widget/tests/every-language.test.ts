import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { LONGEST } from '../../../tests/harness/measured-languages.ts'
import { TRANSLATOR } from '../../../tests/translator.ts'
import { en } from '../src/messages/messages.ts'
import {
  LANGUAGES,
  PROOF_LANGUAGES,
  PROOF_PSEUDO,
  PROOF_SCREENS,
  loadGallery,
  MEASURED,
  PSEUDO,
} from './gallery.ts'
import { browserTest, Harness, init, noBrowser, require } from './harness.ts'

/** Set it to a folder to keep a picture of every screen. */
const PICTURES = process.env.SCREENSHOTS_DIR
const axe = createRequire(import.meta.url).resolve('axe-core')
const SCREENS = [...Object.keys(en.screens), ...PROOF_SCREENS]
/** These tests draw some thousand screens. */
const longTest = { ...browserTest, timeout: 300_000 }
const PAIRS = [
  ['Amount', '€ 25,000.00'],
  ['To', 'DE89 3704 0044 0532 0130 00'],
]
let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** Draws every screen of a language in one box. Returns what sticks out, by screen. */
function drawAll(page: Page, language: object): Promise<string[]> {
  return page.evaluate(
    `(() => {
      const container = document.querySelector('[data-pulse-widget]')
      return ${JSON.stringify(SCREENS)}.flatMap((name) =>
        draw(container, { ...${JSON.stringify(language)}, name }).map((part) => name + ': ' + part))
    })()`,
  )
}

for (const style of [
  'height:168px;width:360px',
  'height:168px;width:304px',
  'min-height:440px;width:360px',
  'min-height:440px;width:288px',
  // A phone at 200 % zoom.
  'min-height:440px;width:195px',
])
  test(`every screen of every language fits a box of ${style}`, longTest, async () => {
    const page = await h.open({ body: `<div data-pulse-widget style="${style}"></div>` })
    await loadGallery(page)
    for (const [tag, messages, proof] of [...MEASURED, ['pseudo', PSEUDO, PROOF_PSEUDO] as const])
      assert.deepEqual(await drawAll(page, { tag, messages, proof, pairs: PAIRS }), [], tag)
    // Without pairs there is more room, and the longest texts are the ones to check.
    assert.deepEqual(
      await drawAll(page, { tag: 'pseudo', messages: PSEUDO, proof: PROOF_PSEUDO, pairs: [] }),
      [],
    )
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
  })

test('the smallest box draws nothing over something else in any language', longTest, async () => {
  const style = 'height:150px;width:180px;min-height:0'
  const page = await h.open({ body: `<div data-pulse-widget style="${style}"></div>` })
  await loadGallery(page)
  for (const [tag, messages, proof] of MEASURED) {
    const drawn = await drawAll(page, { tag, messages, proof, pairs: PAIRS })
    // The service's frame does not fit, and the widget says so.
    assert.deepEqual(drawn, ['browser_frame: the card is cut'], tag)
  }
})

/** Evaluates an expression after drawing a screen of a language in the box of the page. */
function shown<Value>(page: Page, tag: string, name: string, expression: string): Promise<Value> {
  const [, messages, proof] = MEASURED.find(([one]) => one === tag) ?? []
  const language = JSON.stringify({ tag, messages, proof, pairs: PAIRS, name })
  return page.evaluate<Value>(`(() => {
    const container = document.querySelector('[data-pulse-widget]')
    draw(container, ${language})
    const at = (selector) => container.shadowRoot.querySelector(selector)
    const isSeen = (selector) => at(selector).checkVisibility()
    const top = (selector) => Math.round(at(selector).getBoundingClientRect().top)
    return ${expression}
  })()`)
}

const COMPACT = { body: '<div data-pulse-widget style="height:168px;width:360px"></div>' }
const REGULAR = { body: '<div data-pulse-widget style="height:440px;width:340px"></div>' }

test('the compact card keeps the tenant and a distance to its links', longTest, async () => {
  const page = await h.open(COMPACT)
  await loadGallery(page)
  for (const [tag] of MEASURED)
    for (const name of ['scanned', 'evaluating', 'step_up', 'browser', 'bonded', 'completed']) {
      assert.equal(await shown(page, tag, name, `isSeen('.brand')`), true, `${name} in ${tag}`)
      if (name === 'bonded' || name === 'completed') continue
      const gapPx = await shown<number>(
        page,
        tag,
        name,
        `top('.foot .link') - Math.max(...['.title', '.body', '.pairs'].map((part) => isSeen(part) && getComputedStyle(at(part)).position !== 'absolute' ? at(part).getBoundingClientRect().bottom : 0))`,
      )
      assert.ok(gapPx >= 3, `${name} in ${tag}: ${gapPx} px`)
    }
})

test(
  'the confirmation in the browser shows the pairs, and a title of its own',
  longTest,
  async () => {
    for (const [tag, { browser }] of PROOF_LANGUAGES)
      assert.notEqual(browser.title, LANGUAGES.get(tag)?.screens.step_up.title, tag)
    for (const box of [COMPACT, REGULAR]) {
      const page = await h.open(box)
      await loadGallery(page)
      for (const [tag] of MEASURED)
        assert.equal(await shown(page, tag, 'browser', `isSeen('.pairs')`), true, tag)
    }
  },
)

test('a translator changes neither the tenant nor the pairs', longTest, async () => {
  const page = await h.open(REGULAR)
  await loadGallery(page)
  const kept = await shown<(string | boolean)[]>(
    page,
    'en',
    'scanned',
    `((${TRANSLATOR})(container), [at('.brand').textContent, at('.pairs').textContent, at('.title').textContent.startsWith('×')])`,
  )
  assert.deepEqual(kept, ['Kestrel Bank', PAIRS.map((pair) => pair.join(' ')).join(''), true])
})

test('an end is where the end before it was', longTest, async () => {
  for (const box of [COMPACT, REGULAR]) {
    const page = await h.open(box)
    await loadGallery(page)
    for (const tag of ['en', LONGEST, 'ar', 'el', 'ja']) {
      const places = new Set<string>()
      for (const name of ['bonded', 'completed', 'in_review'])
        places.add(await shown<string>(page, tag, name, `top('.badge') + ' ' + top('.title')`))
      assert.equal(places.size, 1, `${tag}: ${[...places].join(', ')}`)
    }
  }
})

/**
 * Draws a language into every box of the page. Returns what axe finds.
 *
 * @param of which rules: all of them, or those about what a look changes
 */
function violationsIn(page: Page, tag: string, of: 'all' | 'colors' = 'all'): Promise<unknown> {
  const [messages, proof] = [LANGUAGES.get(tag), PROOF_LANGUAGES.get(tag)]
  const language = JSON.stringify({ tag, messages, proof, pairs: PAIRS })
  return page.evaluate(`(async () => {
    for (const box of document.querySelectorAll('[data-screen]'))
      draw(box, { ...${language}, name: box.dataset.screen })
    const { violations } = await axe.run('main', {
      resultTypes: ['violations'],
      ${
        of === 'all'
          ? // Many widgets on one page share their landmark and heading.
            "rules: { 'landmark-unique': { enabled: false } }"
          : `runOnly: ['color-contrast', 'link-in-text-block']`
      },
    })
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ failureSummary }) => failureSummary)])
  })()`)
}

for (const [scheme, context] of Object.entries({
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  'forced colors': { forcedColors: 'active' },
} as const))
  test(`axe finds nothing in any screen of four languages in ${scheme}`, longTest, async () => {
    const of = scheme === 'light' ? 'all' : 'colors'
    const boxes = ['min-height:168px', 'min-height:440px'].flatMap((style) =>
      SCREENS.map((name) => `<div data-screen="${name}" style="${style};max-width:360px"></div>`),
    )
    const page = await h.open({ ...context, body: boxes.join('') })
    await loadGallery(page)
    await page.addScriptTag({ path: axe })
    for (const tag of ['en', 'de', 'ar', 'ja']) {
      assert.deepEqual(await violationsIn(page, tag, of), [], tag)
      if (PICTURES === undefined) continue
      mkdirSync(PICTURES, { recursive: true })
      const path = join(PICTURES, `widget-${scheme.replace(' ', '-')}-${tag}.png`)
      await page.setViewportSize({ width: 1_900, height: 1_000 })
      await page.addStyleTag({
        content: 'main { columns: 5 } [data-screen] { break-inside: avoid }',
      })
      await page.screenshot({ path, fullPage: true, timeout: 60_000 })
      await page.setViewportSize({ width: 420, height: 560 })
    }
  })

test('axe finds nothing in the main screens of any language', longTest, async () => {
  const boxes = ['waiting', 'scanned', 'bonded', 'declined'].map(
    (name) => `<div data-screen="${name}" style="min-height:440px;max-width:360px"></div>`,
  )
  const page = await h.open({ body: boxes.join('') })
  await loadGallery(page)
  await page.addScriptTag({ path: axe })
  for (const [tag] of MEASURED)
    if (tag !== LONGEST) assert.deepEqual(await violationsIn(page, tag), [], tag)
})

test(
  'speaks the locale of the page’s code, else of the page, else of the browser',
  browserTest,
  async () => {
    const box = '<div data-pulse-widget style="min-height:168px"></div>'
    for (const [locale, lang, browser, tag, dir] of [
      ['de-AT', 'fr', 'ja-JP', 'de', 'ltr'],
      [undefined, 'ar', 'ja-JP', 'ar', 'rtl'],
      [undefined, undefined, 'ja-JP', 'ja', 'ltr'],
      [undefined, 'en-GB', 'ja-JP', 'en', 'ltr'],
      ['xx', 'he', 'ja-JP', 'he', 'rtl'],
    ] as const) {
      const page = await h.open({
        locale: browser,
        body: lang ? `<div lang="${lang}">${box}</div>` : box,
      })
      if (!lang) await page.evaluate('document.documentElement.removeAttribute("lang")')
      await init(page, { locale })
      await require(page)
      await page.locator(`.card[lang="${tag}"][dir="${dir}"] .qr`).waitFor()
      const title = LANGUAGES.get(tag)!.screens.waiting.title
      await page.getByRole('heading', { name: title }).waitFor()
    }
  },
)

test('a lost connection does not load a frame again', browserTest, async () => {
  const page = await h.open({ body: '<div data-pulse-widget></div>' })
  await loadGallery(page)
  const language = { tag: 'en', messages: LANGUAGES.get('en'), proof: PROOF_LANGUAGES.get('en') }
  const draw = (hasContact: boolean) =>
    page.evaluate(`{
      const container = document.querySelector('[data-pulse-widget]')
      draw(container, ${JSON.stringify({ ...language, name: 'browser_frame', hasContact })})
      globalThis.inside = container.shadowRoot.querySelector('iframe').contentWindow
      inside.loadedOnce ??= 1
    }`)
  await draw(true)
  await page.evaluate('inside.loadedOnce = 2')
  await draw(false)
  await page.getByText('Reconnecting').first().waitFor({ state: 'attached' })
  assert.equal(await page.evaluate('inside.loadedOnce'), 2)
})
