import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { LONGEST, measured } from '../../../tests/harness/measured-languages.ts'
import { TRANSLATOR } from '../../../tests/translator.ts'
import { LANGUAGES } from '../src/messages/language.ts'
import { buildGallery, type Gallery, languageIn } from './open-gallery.ts'

/** Set it to a folder to keep a picture of every screen. */
const PICTURES = process.env.SCREENSHOTS_DIR
const axe = createRequire(import.meta.url).resolve('axe-core')
const browserTest = { skip: browserMissing, timeout: 600_000 }

const MEASURED = measured(LANGUAGES)

let browser: Browser
let gallery: Gallery
before(async () => {
  if (browserMissing) return
  browser = await openBrowser()
  gallery = await buildGallery()
})
after(async () => browser?.close())

async function open(options: BrowserContextOptions): Promise<Page> {
  const page = await gallery.open(browser, options)
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
      await draw(page, screen, 'null')
      await picture(page, `${name}-${screen}`)
      // These looks change colors only.
      const rules = /^(?:dark|forced colors)$/.test(name)
        ? ", runOnly: ['color-contrast', 'link-in-text-block']"
        : ''
      assert.deepEqual(await violations(page, rules), [], screen)
      assert.equal(await overflow(page), 0, `${screen} overflows`)
    }
    await page.context().close()
  })

/** Where a user of any language is on the way to an approval. */
const MAIN_SCREENS = ['setup', 'request', 'awaiting-browser', 'approved']

test(
  'every screen passes axe in four languages, the main ones in others',
  browserTest,
  async () => {
    const page = await open(looks.light)
    const every = await screensOf(page)
    for (const tag of ['de', ...MEASURED.filter((one) => one !== LONGEST && one !== 'de')])
      for (const screen of ['de', 'ar', 'ja'].includes(tag) ? every : MAIN_SCREENS) {
        await draw(page, screen, languageIn(tag))
        await picture(page, `${tag}-${screen}`)
        assert.deepEqual(await violations(page), [], `${screen} in ${tag}`)
      }
    await page.context().close()
  },
)

test(
  'no screen overflows at 320 px in any language, nor at twice the size',
  browserTest,
  async () => {
    for (const width of [320, 195]) {
      const page = await open({ viewport: { width, height: 568 } })
      for (const tag of MEASURED) {
        const wide = await page.evaluate<
          string[]
        >(`Object.keys(gallery.screens).filter((screen) => {
        gallery.draw(screen, ${languageIn(tag)})
        return document.scrollingElement.scrollWidth > document.documentElement.clientWidth
      })`)
        assert.deepEqual(wide, [], `${tag} at ${width} px`)
      }
      await draw(page, 'request', 'null')
      await picture(page, `zoom-${width}`)
      await page.context().close()
    }
  },
)

test('all choices of a request are in view in every language', browserTest, async () => {
  for (const [width, height] of [
    [320, 568],
    [390, 664],
  ] as const) {
    const page = await open({ viewport: { width, height } })
    for (const tag of MEASURED) {
      const hidden = await page.evaluate<
        string[]
      >(`['request', 'request-notice', 'request-not-confirmed'].filter((screen) => {
        gallery.draw(screen, ${languageIn(tag)})
        const choices = Array.from(document.querySelectorAll('.actions button'))
        return choices.length !== 3 || choices.some((choice) => {
          const { top, bottom } = choice.getBoundingClientRect()
          return top < 0 || bottom > innerHeight
        })
      })`)
      assert.deepEqual(hidden, [], `${tag} at ${width} px`)
    }
    await page.context().close()
  }
})

test('the actions of every screen are in view, and one is primary', browserTest, async () => {
  for (const [width, height] of [
    [320, 568],
    [390, 664],
  ] as const) {
    const page = await open({ viewport: { width, height } })
    for (const tag of MEASURED) {
      // The actions of the longest requests follow them (request-in-view.test.ts).
      const wrong = await page.evaluate<string[]>(`Object.keys(gallery.screens).filter((screen) => {
        if (/^request-(longest|text)$/.test(screen)) return false
        gallery.draw(screen, ${languageIn(tag)})
        const actions = [...document.querySelectorAll('.actions .button')].filter((action) => action.checkVisibility())
        const primary = actions.filter((action) => !action.matches('.plain, .stop'))
        // A step-up without sensors has nothing to continue with; the page's browser is next. Nor
        // has an empty inbox, and a removal does not look like an approval.
        const none = /^(step-up-denied|awaiting-|inbox-empty|removal-)/
        const expected = actions.length > 0 && !none.test(screen) ? 1 : 0
        return primary.length !== expected || actions.some((action) => {
          const { top, bottom, height } = action.getBoundingClientRect()
          return top < 0 || bottom > innerHeight || height < 44
        })
      })`)
      assert.deepEqual(wrong, [], `${tag} at ${width} px`)
    }
    await page.context().close()
  }
})

/** Phones of today, with the bars of their browsers. */
const SIZES = [
  [320, 568],
  [360, 560],
  [375, 553],
  [390, 553],
] as const

test('the inbox fits phones of four sizes in every language', browserTest, async () => {
  const page = await open(looks.light)
  for (const [width, height] of SIZES) {
    await page.setViewportSize({ width, height })
    for (const tag of MEASURED) {
      const wrong = await page.evaluate<string[]>(`Object.keys(gallery.screens).filter((screen) => {
        if (!screen.startsWith('inbox-')) return false
        gallery.draw(screen, ${languageIn(tag)})
        const isHidden = (action) => {
          const { top, bottom, left, right, height } = action.getBoundingClientRect()
          return top < 0 || bottom > innerHeight || left < 0 || right > innerWidth || height < 44
        }
        const actions = [...document.querySelectorAll('.actions .button')].filter((action) => action.checkVisibility())
        const isCut = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth
        const texts = [document.documentElement, ...document.querySelectorAll('h1, p, button')]
        return actions.some(isHidden) || texts.some(isCut)
      })`)
      assert.deepEqual(wrong, [], `${tag} at ${width} × ${height}`)
    }
    await draw(page, 'inbox-list', 'null')
    await picture(page, `inbox-${width}x${height}`)
  }
  await page.context().close()
})

test('each problem says how to leave it', browserTest, async () => {
  const page = await open(looks.light)
  const silent = await page.evaluate<string[]>(`Object.keys(gallery.screens)
    .filter((screen) => /^(problem|need|ended|completed)/.test(screen))
    .filter((screen) => {
      gallery.draw(screen, null)
      return document.querySelector('.actions .button') === null
    })`)
  assert.deepEqual(silent, [])
  await page.context().close()
})

test('longer words overflow nowhere at 320 px', browserTest, async () => {
  const page = await open({ viewport: { width: 320, height: 568 } })
  for (const screen of await screensOf(page)) {
    await draw(page, screen, 'gallery.pseudo')
    await picture(page, `pseudo-${screen}`)
    assert.equal(await overflow(page), 0, `${screen} overflows`)
  }
  await page.context().close()
})

test('a translator changes nothing that is signed, on any screen', browserTest, async () => {
  const page = await open(looks.light)
  for (const screen of await screensOf(page)) {
    await draw(page, screen, 'null')
    const changed = await page.evaluate<[string, string[]]>(`(() => {
      const signed = new Set()
      const collect = (value, key, isOfRequest) => {
        if (typeof value === 'string') {
          const parts = key === 'text' ? value.split('\\n') : [value]
          const isSigned = isOfRequest || /^(tenant|tenant_name|requesting_origin)$/.test(key)
          if (isSigned) for (const part of parts) if (/[\\p{L}\\d]{3}/u.test(part)) signed.add(part.trim())
        } else if (value !== null && typeof value === 'object')
          for (const [name, member] of Object.entries(value))
            collect(member, name, isOfRequest || /^(display|requester|text|workflow_title|action_title)$/.test(name))
      }
      collect(gallery.screens[${JSON.stringify(screen)}].screen, '', false)
      // The phones of the list, which the user compares before a removal.
      for (const part of document.querySelectorAll('.pairs dt, .pairs dd')) signed.add(part.textContent)
      const texts = () => [document.title, document.querySelector('main').textContent]
      const count = (text) => texts().map((all) => all.split(text).length - 1).join()
      const before = new Map(Array.from(signed, (text) => [text, count(text)]))
      const words = texts().join()
      ;(${TRANSLATOR})(document.documentElement)
      return [words === texts().join() ? 'nothing' : 'words', [...signed].filter((text) => before.get(text) !== count(text))]
    })()`)
    assert.deepEqual(changed, ['words', []], screen)
  }
  await page.context().close()
})

const screensOf = (page: Page) => page.evaluate<string[]>('Object.keys(gallery.screens)')
/** @param language an expression in the page: `null` is English */
const draw = (page: Page, screen: string, language: string) =>
  page.evaluate(`gallery.draw(${JSON.stringify(screen)}, ${language})`)
const violations = (page: Page, rules = '') =>
  page.evaluate(
    `axe.run(document, { resultTypes: ['violations']${rules} }).then(({ violations }) =>
      violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))`,
  )
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
