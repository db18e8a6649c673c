import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { fc } from '../../../tests/random.ts'
import { buildGallery, languageIn } from './open-gallery.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

/** Set it to a folder to keep pictures. */
const PICTURES = process.env.SCREENSHOTS_DIR
const browserTest = { skip: browserMissing, timeout: 600_000 }

let browser: Browser
let page: Page
before(async () => {
  if (browserMissing) return
  browser = await openBrowser()
  page = await (await buildGallery()).open(browser, { viewport: { width: 360, height: 560 } })
  // The test moves the time, and with it the timers of the page.
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await page.evaluate(`Object.assign(globalThis, {
    approve: () => document.querySelector('.actions > .button'),
    lines: () => [...document.querySelectorAll('.text li')],
    isInert: () => approve().getAttribute('aria-disabled') === 'true',
    scrolled(y) {
      scrollTo(0, y)
      dispatchEvent(new Event('scroll'))
    },
    read() {
      for (let y = 0; y < document.body.scrollHeight; y += 150) scrolled(y)
    },
    tap() {
      approve().click()
      return gallery.choices.length
    },
  })`)
})
after(async () => browser?.close())

const draw = (tag: string) =>
  page.evaluate(`gallery.draw('request-text', ${languageIn(tag)}); scrolled(0)`)
const picture = async (name: string) => {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `text-${name}.png`) })
}

test(
  'a line that wraps has a mark beside the rest of it, and no other line has',
  browserTest,
  async () => {
    await draw('en')
    await picture('wrapped')
    const marked = await page.evaluate<[number, number][]>(`lines().map((line) => {
    const code = line.querySelector('code')
    const { lineHeight } = getComputedStyle(code)
    const mark = getComputedStyle(code, '::before')
    const [rows, bar] = [code.offsetHeight / parseFloat(lineHeight), parseFloat(mark.height) / parseFloat(lineHeight)]
    return [Math.round(rows), Math.round(bar)]
  })`)
    assert.ok(marked.some(([rows]) => rows > 2) && marked.some(([rows]) => rows === 1))
    for (const [rows, bar] of marked) assert.equal(bar, rows - 1)
  },
)

test(
  'Approve waits until the end of a text of 200 lines has been in view for a second',
  browserTest,
  async () => {
    await draw('en')
    await picture('start')
    assert.deepEqual(await page.evaluate(`[isInert(), tap()]`), [true, 0])
    await page.evaluate(`scrolled(0); read()`)
    await picture('end')
    assert.deepEqual(await page.evaluate(`[isInert(), tap()]`), [true, 0])
    await page.evaluate(`scrolled(document.body.scrollHeight)`)
    await page.clock.runFor(600)
    // The end leaves the view, so the second begins anew.
    await page.evaluate(`scrolled(0); scrolled(document.body.scrollHeight)`)
    await page.clock.runFor(600)
    assert.equal(await page.evaluate(`isInert()`), true)
    await page.clock.runFor(1_000)
    assert.deepEqual(await page.evaluate(`[isInert(), tap()]`), [false, 1])
  },
)

test(
  'a jump to the end of a text leaves Approve inert, and says why to a screen reader',
  browserTest,
  async () => {
    await draw('en')
    await page.evaluate(`scrolled(document.body.scrollHeight)`)
    await page.clock.runFor(5_000)
    assert.deepEqual(
      await page.evaluate(
        `[isInert(), document.getElementById(approve().getAttribute('aria-describedby')).textContent]`,
      ),
      [true, 'Scroll down to read the whole request.'],
    )
  },
)

test(
  'the requester is the first part, with the tenant as its source, before page and pairs',
  browserTest,
  async () => {
    await draw('en')
    assert.deepEqual(
      await page.evaluate(
        `[...document.querySelectorAll('.origin dt, .origin dd')].map((part) => part.textContent)`,
      ),
      [
        'Requested by',
        'Invoice agent',
        'Pays invoices up to €20,000',
        'Software agent · As stated by Harbour Bank.',
        'Page',
        'Not known',
      ],
    )
  },
)

test(
  'each line is drawn verbatim with its number, wraps, and loses nothing',
  browserTest,
  async () => {
    for (const [width, tag] of [
      [360, 'en'],
      [320, 'ar'],
      [195, 'de'],
    ] as const) {
      await page.setViewportSize({ width, height: 560 })
      await draw(tag)
      await picture(`${width}-${tag}`)
      const found = await page.evaluate(`(() => {
      const codes = lines().map((line) => line.firstChild)
      return {
        isVerbatim: codes.map(({ textContent }) => textContent).join('\\n') === gallery.screens['request-text'].screen.request.text,
        lines: codes.length,
        cut: codes.filter(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
          scrollWidth > clientWidth || scrollHeight > clientHeight).length,
        directions: [...new Set(codes.map((code) => getComputedStyle(code).direction))],
        isFixed: /monospace/.test(getComputedStyle(codes[0]).fontFamily),
        last: getComputedStyle(lines()[199], '::before').content,
      }
    })()`)
      assert.deepEqual(found, {
        isVerbatim: true,
        lines: 200,
        cut: 0,
        directions: ['ltr'],
        isFixed: true,
        last: 'counter(line)',
      })
    }
  },
)

test('what is written from right to left moves nothing beside it', browserTest, async () => {
  await page.setViewportSize({ width: 1000, height: 560 })
  const part = fc.constantFrom(
    'a',
    '"',
    ' ',
    ': ',
    '12',
    '-',
    'שלום',
    'א',
    'مصرف',
    '٣٤',
    '،',
    '(',
    '#',
  )
  const texts = fc.sample(
    fc.array(part, { minLength: 2, maxLength: 9 }).map((parts) => parts.join('')),
    300,
  )
  const moved = await page.evaluate(`${JSON.stringify(texts)}.filter((text) => {
    const screen = gallery.screens['request-text'].screen
    gallery.screens.one = { screen: { ...screen, request: { ...screen.request, text: 'x' + text } } }
    gallery.draw('one', null)
    const range = document.createRange()
    let end = -Infinity
    // Each isolated run, and each character beside it, is to the right of the one before.
    return [...lines()[0].firstChild.childNodes].some((node) => {
      const places = node.nodeType === Node.TEXT_NODE
        ? Array.from(node.data, (_, index) => {
            range.setStart(node, index)
            range.setEnd(node, index + 1)
            return range.getBoundingClientRect()
          })
        : [node.getBoundingClientRect()]
      return places.some(({ left, right }) => {
        const isMoved = left < end - 1
        end = right
        return isMoved
      })
    })
  })`)
  assert.deepEqual(moved, [])
})

test('the page signs a text once the user has read it, and no earlier', browserTest, async () => {
  await using sandbox = await Sandbox.start()
  const phone = await sandbox.phone()
  const context = {
    display: [{ label: 'Pay an invoice', value: '€12,500.00' }],
    requester: { kind: 'agent', name: 'Invoice agent' },
    text: Array.from({ length: 200 }, (_, line) => `"line ${line}": 1`).join('\n'),
  }
  const session = await sandbox.create({ context })
  await phone.open(session)
  await screen(phone.page, 'request')
  const text = (await phone.page.locator('.text code').allTextContents()).join('\n')
  assert.equal(text, context.text)
  const approve = phone.page.locator('.actions > .button')
  assert.equal(await approve.getAttribute('aria-disabled'), 'true')
  await phone.page.evaluate(`(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 100) {
      scrollTo(0, y)
      // A scroll event comes with the next frame.
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    }
  })()`)
  // It waits until the button is live.
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
})
