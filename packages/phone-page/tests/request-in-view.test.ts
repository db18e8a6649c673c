import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, openBrowser, phoneFontMissing } from '../../../tests/browser.ts'
import { LONGEST, measured } from '../../../tests/harness/measured-languages.ts'
import { LANGUAGES } from '../src/messages/language.ts'
import { buildGallery, languageIn } from './open-gallery.ts'

/** Set it to a folder to keep a picture of every language. */
const PICTURES = process.env.SCREENSHOTS_DIR
const browserTest = { skip: browserMissing, timeout: 600_000 }
const SMALL_PHONES = [
  { width: 360, height: 560 },
  { width: 375, height: 553 },
]

let browser: Browser
let page: Page
before(async () => {
  if (browserMissing) return
  browser = await openBrowser()
  page = await (await buildGallery()).open(browser, { viewport: SMALL_PHONES[0]! })
  await page.evaluate(`Object.assign(globalThis, {
    // A scroll event and a change of a size come with the next frame.
    settled: () => new Promise((settle) => requestAnimationFrame(() => requestAnimationFrame(settle))),
    approve: () => document.querySelector('.actions > .button'),
    isInert: () => approve().getAttribute('aria-disabled') === 'true',
    viewEnd: () => Math.min(innerHeight, document.querySelector('.actions').getBoundingClientRect().top),
    isInView(part) {
      const { top, bottom, height } = part.getBoundingClientRect()
      return height > 0 && top >= 0 && bottom <= viewEnd()
    },
    tap() {
      approve().click()
      return gallery.choices.length
    },
  })`)
})
after(async () => browser?.close())

/** Draws a request at the top of the page. */
async function draw(screen: string, tag: string): Promise<void> {
  await page.evaluate(`(async () => {
    gallery.draw('${screen}', ${languageIn(tag)})
    scrollTo(0, 0)
    await settled()
  })()`)
}

for (const viewport of SMALL_PHONES)
  test(`page, warning and first pair are in view at once in every language, and Approve waits for the last: ${viewport.width} px`, {
    ...browserTest,
    skip: browserMissing || phoneFontMissing,
  }, async () => {
    await page.setViewportSize(viewport)
    for (const tag of measured(['en', ...LANGUAGES])) {
      await draw('request-longest', tag)
      if (PICTURES !== undefined) {
        mkdirSync(PICTURES, { recursive: true })
        await page.screenshot({ path: join(PICTURES, `longest-${viewport.width}-${tag}.png`) })
      }
      const found = await page.evaluate(`(async () => {
          const pairs = document.querySelectorAll('.pairs > div')
          const last = pairs[pairs.length - 1]
          const first = [...document.querySelectorAll('.origin > div, .question'), pairs[0]]
          const before = {
            inView: first.map(isInView),
            pairs: pairs.length,
            isInert: isInert(),
            hint: document.getElementById(approve().getAttribute('aria-describedby'))?.checkVisibility(),
          }
          scrollBy(0, last.getBoundingClientRect().top - viewEnd() - 2)
          const part = innerHeight / 2
          const end = scrollY
          for (let y = 0; y <= end; y += part) {
            scrollTo(0, y)
            await settled()
          }
          scrollTo(0, end)
          await settled()
          const almost = isInert()
          while (!isInView(last)) {
            scrollBy(0, part)
            await settled()
          }
          return { before, almost, last: isInert(), choices: tap() }
        })()`)
      assert.deepEqual(
        found,
        {
          before: { inView: [true, true, true], pairs: 9, isInert: true, hint: true },
          almost: true,
          last: false,
          choices: 1,
        },
        tag,
      )
    }
  })

test('the rule of a quorum is in view with the warning, the first pair and the buttons in every language', {
  ...browserTest,
  skip: browserMissing || phoneFontMissing,
}, async () => {
  for (const viewport of [...SMALL_PHONES, { width: 320, height: 568 }]) {
    await page.setViewportSize(viewport)
    for (const tag of measured(['en', ...LANGUAGES])) {
      await draw('inbox-request-quorum', tag)
      const found = await page.evaluate(`({
        inView: [...document.querySelectorAll('.question'), document.querySelector('.pairs > div')]
          .map(isInView),
        rule: document.querySelector('.question').innerText.match(/[2٢۲].*[3٣۳]|[3٣۳].*[2٢۲]/) !== null,
        buttons: [...document.querySelectorAll('.actions button')]
          .filter((button) => button.getBoundingClientRect().bottom <= innerHeight).length,
      })`)
      const expected = { inView: [true, true, true], rule: true, buttons: 3 }
      assert.deepEqual(found, expected, `${tag} at ${viewport.width} px`)
    }
  }
})

test('the rule of a quorum has the digits of the language', browserTest, async () => {
  await draw('inbox-request-quorum', 'fa')
  const rule = await page.evaluate(`document.querySelector('.question').textContent`)
  assert.equal(rule, 'باید ۲ نفر از ۳ نفر تأیید کنند. شما یکی از آن‌ها هستید.')
})

/** What the actions may take of a small phone, in percent. */
const LARGEST = { request: 26, 'inbox-request': 26, 'removal-phone': 26, 'setup-recovery': 35 }

test('on a small phone the actions leave the view to the text, and cut no account number', {
  ...browserTest,
  skip: browserMissing || phoneFontMissing,
}, async () => {
  for (const viewport of SMALL_PHONES) {
    await page.setViewportSize(viewport)
    for (const tag of ['de', ...measured(['en', ...LANGUAGES]).filter((one) => one !== LONGEST)])
      for (const [screen, largest] of Object.entries(LARGEST)) {
        await draw(screen, tag)
        const found = await page.evaluate<{ percent: number; cut: string[] }>(`(() => {
          const { height } = document.querySelector('.actions').getBoundingClientRect()
          const isCut = ({ top, bottom }) => top < viewEnd() && bottom > viewEnd() + 1
          return {
            percent: (100 * height) / innerHeight,
            cut: [...document.querySelectorAll('.identifier')]
              .filter((each) => isCut(each.getBoundingClientRect()))
              .map(({ textContent }) => textContent),
          }
        })()`)
        assert.deepEqual(found.cut, [], `${screen} in ${tag}`)
        assert.ok(found.percent <= largest, `${screen} in ${tag}: ${found.percent} %`)
      }
  }
})

test(
  'an inbox says hours and minutes, and seconds in the last ten minutes only',
  browserTest,
  async () => {
    const timeOf = (screen: string, ms: number) =>
      page.evaluate<string>(`(() => {
      gallery.screens['${screen}'].screen.request.expires_in_ms = ${ms}
      gallery.draw('${screen}', null)
      return document.querySelector('[role=timer]').textContent
    })()`)
    for (const [ms, text] of [
      [86_400_000, '24 hours left'],
      [3_000_000, '50 minutes left'],
      [610_000, '11 minutes left'],
      [599_900, '10:00 left'],
      [64_900, '1:05 left'],
      [0, '0:00 left'],
    ] as const)
      assert.equal(await timeOf('inbox-request', ms), text)
    // A page's request waits 15 minutes at most.
    assert.equal(await timeOf('request', 899_900), '15:00 left')
  },
)

test('the removal of a phone does not look like an approval', browserTest, async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const colors = []
    for (const screen of ['request', 'removal-phone']) {
      await draw(screen, 'en')
      colors.push(await page.evaluate('getComputedStyle(approve()).backgroundColor'))
    }
    assert.notEqual(colors[0], colors[1])
    assert.ok(!colors.includes('rgba(0, 0, 0, 0)'), String(colors))
  }
  await page.emulateMedia({ colorScheme: null })
})

test('Approve is live at once where everything is in view', browserTest, async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  await draw('request', 'en')
  assert.deepEqual(
    await page.evaluate(
      `[isInert(), document.querySelector('.read-all').checkVisibility(), tap()]`,
    ),
    [false, false, 1],
  )
})

test(
  'a jump to the end leaves Approve inert until the rest has been in view',
  browserTest,
  async () => {
    await page.setViewportSize(SMALL_PHONES[0]!)
    await draw('request-longest', 'en')
    const found = await page.evaluate(`(async () => {
    scrollTo(0, document.body.scrollHeight)
    await settled()
    const jumped = isInert()
    for (let y = scrollY; y > 0; y -= 100) {
      scrollTo(0, y)
      await settled()
    }
    return [jumped, isInert()]
  })()`)
    assert.deepEqual(found, [true, false])
  },
)

test(
  'a press on the inert Approve shows the rest, so that no one is trapped',
  browserTest,
  async () => {
    for (const viewport of [
      ...SMALL_PHONES,
      { width: 180, height: 280 },
      { width: 1360, height: 900 },
    ]) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await draw('request-longest', 'de')
      const found = await page.evaluate<{ presses: number; choices: number }>(`(async () => {
      let presses = 0
      for (; isInert() && presses < 60; presses++) {
        tap()
        await settled()
      }
      return { presses, choices: gallery.choices.length }
    })()`)
      assert.ok(found.presses > 0 && found.presses < 60, JSON.stringify(found))
      assert.equal(found.choices, 0)
    }
  },
)

test('groups a long identifier, and leaves its characters as they are', browserTest, async () => {
  await draw('request', 'en')
  const found = await page.evaluate(`(() => {
    const values = [...document.querySelectorAll('.pairs dd')]
    const groups = [...document.querySelectorAll('.identifier span')]
    const [first, second] = groups.map((group) => group.getBoundingClientRect())
    return {
      texts: values.map(({ textContent }) => textContent),
      groups: groups.length,
      isApart: second.left > first.right,
    }
  })()`)
  assert.deepEqual(found, {
    texts: [
      '€12,500.00',
      'Ada Lovelace',
      'DE89370400440532013000DE89370400440532013000',
      'Credit application',
    ],
    groups: 11,
    isApart: true,
  })
})

test(
  'the same request stays read when a notice comes, and another one does not',
  browserTest,
  async () => {
    await page.setViewportSize({ width: 320, height: 456 })
    const found = await page.evaluate(`(async () => {
    gallery.draw('request', null)
    await settled()
    const readings = [isInert()]
    const show = async (name) => {
      gallery.again(name)
      scrollTo(0, 0)
      await settled()
      readings.push(isInert())
    }
    for (let y = 0; y < 2000; y += 100) {
      scrollTo(0, y)
      await settled()
    }
    readings.push(isInert())
    await show('request-notice')
    await show('request-longest')
    await show('request')
    return readings
  })()`)
    assert.deepEqual(found, [true, false, false, true, false])
  },
)
