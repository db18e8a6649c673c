import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, Harness, init, noBrowser, outcome, require, screen } from './harness.ts'
import { LANGUAGES, loadGallery } from './gallery.ts'
import { PAST_GRACE_MS } from './containment/scene.ts'
import { noZbar, readQr, readQrFrom, readQrWithZbar } from './read-qr.ts'

const COMPACT = 'display:block;min-height:168px;max-width:360px'
const REGULAR = 'display:block;min-height:440px;max-width:360px'
const TINY = 'display:block;width:180px;height:150px;min-height:0'
const box = (style: string) => `<div data-pulse-widget style="${style}"></div>`
const PAIRS = {
  display: [
    { label: 'Amount', value: '€ 25,000.00' },
    { label: 'To', value: 'DE89 3704 0044 0532 0130 00' },
  ],
}
const DRAWN_PAIRS = PAIRS.display.map(({ label, value }) => [label, value])
let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

interface Drawn {
  readonly layout: string
  readonly boxHeight: number
  readonly isInside: boolean
  readonly moduleWidth: number
}

/** Measures the widget: what of the card sticks out of the box, and the modules of the QR code. */
function measure(page: Page): Promise<Drawn> {
  return page.evaluate(`(() => {
    const host = document.querySelector('[data-pulse-widget]')
    const card = host.shadowRoot.querySelector('.card')
    const [outer, inner] = [host.getBoundingClientRect(), card.getBoundingClientRect()]
    const shown = [...card.querySelectorAll('*')].filter((part) => part.checkVisibility() && getComputedStyle(part).position !== 'absolute')
    const sticksOut = ({ left, right, top, bottom }) => left < inner.left - 1 || right > inner.right + 1 || top < inner.top - 1 || bottom > inner.bottom + 1
    const qr = card.querySelector('.qr')
    return {
      layout: card.dataset.layout,
      boxHeight: outer.height,
      isInside: inner.bottom <= outer.bottom + 1 && inner.right <= outer.right + 1 && !shown.some((part) => sticksOut(part.getBoundingClientRect())),
      moduleWidth: qr ? qr.clientWidth / qr.viewBox.baseVal.width : 0,
    }
  })()`)
}

test(
  'shows no QR code in a window that is narrow for a moment, and the same box afterwards',
  browserTest,
  async () => {
    for (const style of [COMPACT, REGULAR]) {
      const page = await h.waiting({ body: box(style), request: { context: PAIRS } })
      const { boxHeight } = await measure(page)
      await page.setViewportSize({ width: 120, height: 560 })
      await page.getByText('The QR code does not fit here.').waitFor()
      assert.equal(await page.locator('.qr').isVisible(), false)
      await page.setViewportSize({ width: 420, height: 560 })
      await page.locator('.qr').waitFor()
      assert.equal((await measure(page)).boxHeight, boxHeight)
      assert.ok((await measure(page)).isInside)
    }
  },
)

for (const [layout, style] of [
  ['compact', COMPACT],
  ['regular', REGULAR],
] as const)
  for (const deviceScaleFactor of [1, 2])
    for (const colorScheme of ['light', 'dark'] as const)
      test(
        `two decoders read the ${layout} QR code at ${deviceScaleFactor}x in ${colorScheme}`,
        browserTest,
        async (t) => {
          const page = await h.waiting({ body: box(style), deviceScaleFactor, colorScheme })
          const drawn = await measure(page)
          assert.equal(drawn.layout, layout)
          assert.ok(drawn.moduleWidth >= 2, `${drawn.moduleWidth} px`)
          const png = await page.screenshot()
          assert.equal(readQr(png), h.session.payload)
          if (noZbar) t.diagnostic(noZbar)
          else assert.equal(readQrWithZbar(png), h.session.payload)
        },
      )

test('the reserved box keeps its height through every state', browserTest, async () => {
  const page = await h.open({ body: box(COMPACT) })
  await init(page)
  await require(page, {
    context: { display: [PAIRS.display[0], { label: 'To', value: 'Kilroy AB' }] },
  })
  await page.locator('.qr').waitFor()
  await page.getByText('Kilroy AB').waitFor()
  for (const move of [
    () => h.session.hinted('scanned'),
    () => h.session.hinted('evaluating'),
    () => h.session.moved('step_up_required'),
    () => h.session.moved('bonded'),
    () => h.session.moved('completed'),
  ]) {
    const { layout, boxHeight, isInside } = await measure(page)
    assert.deepEqual([layout, boxHeight, isInside], ['compact', 168, true])
    const before = await page.locator('.card').getAttribute('data-screen')
    move()
    await page.waitForFunction(
      `document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('.card').dataset.screen !== '${before}'`,
    )
  }
})

test('a box of 320 px and a box with padding hold the whole card', browserTest, async () => {
  for (const style of [
    'height:168px;width:320px',
    'height:168px;width:288px',
    `${COMPACT};padding:12px;border:4px solid`,
    'min-height:168px;width:200px',
  ]) {
    const page = await h.open({ body: box(style) })
    await init(page)
    await require(page, { context: PAIRS })
    await screen(page, 'waiting')
    await page.locator('.qr').waitFor()
    assert.equal((await measure(page)).isInside, true, style)
    assert.equal(await readQrFrom(page), h.session.payload)
  }
})

test('a box that shrinks to its content has the full width', browserTest, async () => {
  const page = await h.waiting({ body: `<div style="float:left">${box(COMPACT)}</div>` })
  assert.equal(await page.locator('.card').evaluate((card) => card.clientWidth), 358)
})

test(
  'a box too small for the QR code says so, closes after the grace, and reports nothing',
  browserTest,
  async () => {
    h.worker.reports.length = 0
    const page = await h.open({ body: box('width:120px;height:90px;min-height:0'), clock: true })
    await init(page)
    await require(page)
    await page.getByText('The QR code does not fit here.').waitFor()
    await page.clock.runFor(PAST_GRACE_MS)
    assert.deepEqual(await outcome(page), {
      state: 'unavailable',
      sessionId: null,
      reason: 'container_hidden',
    })
    assert.equal(await page.locator('.card').getAttribute('data-screen'), 'no_room')
    assert.equal(h.sessions.length, 0)
  },
)

test(
  'a box that becomes too small and large again changes nothing in the timeline',
  browserTest,
  async () => {
    h.worker.reports.length = 0
    const page = await h.waiting({ body: box(COMPACT) })
    const resize = (width: string) =>
      page.locator('[data-pulse-widget]').evaluate((host, to) => (host.style.width = to), width)
    await resize('90px')
    await page.locator('.card.none').waitFor()
    assert.equal(await page.locator('.qr').isVisible(), false)
    await resize('360px')
    await page.locator('[data-breached=false] .qr path + path').waitFor()
    assert.equal(await readQrFrom(page), h.session.payload)
    assert.deepEqual(h.worker.reports, [])
  },
)

/** The box of a label or a value. */
interface Boxed {
  readonly left: number
  readonly right: number
  readonly overflow: string
  readonly whiteSpace: string
}

/** Where the parts are that a user looks at and presses, by class. */
function places(page: Page, parts: string): Promise<Record<string, string>> {
  return page.evaluate(`(() => {
    const { shadowRoot, offsetHeight } = document.querySelector('[data-pulse-widget]')
    const rects = [...shadowRoot.querySelectorAll(${JSON.stringify(parts)})].map((part) => {
      const { x, y, width, height } = part.getBoundingClientRect()
      return [part.className.baseVal ?? part.className, [x, y, width, height].join(' ')]
    })
    return { box: String(offsetHeight), ...Object.fromEntries(rects) }
  })()`)
}

for (const style of [COMPACT, REGULAR, 'min-height:168px;width:320px', TINY])
  for (const pointer of style === TINY ? ['fine'] : ['fine', 'coarse'])
    test(
      `nothing moves between the states in ${style} with a ${pointer} pointer`,
      browserTest,
      async () => {
        const isTouch = pointer === 'coarse'
        const page = await h.open({ body: box(style), hasTouch: isTouch, isMobile: isTouch })
        await loadGallery(page)
        const draw = async (tag: string, screens: object, parts: string) => {
          const language = { tag, messages: LANGUAGES.get(tag), pairs: DRAWN_PAIRS, ...screens }
          await page.evaluate(
            `void draw(document.querySelector('[data-pulse-widget]'), ${JSON.stringify(language)})`,
          )
          return places(page, parts)
        }
        // The smallest box hides the text beside the QR code.
        const fixed = `.brand,.same,.foot,.stage,.touch${style === TINY ? '' : ',.room'}`
        for (const tag of ['en', 'de', 'el', 'ar', 'ja']) {
          const first = await draw(tag, { name: 'waiting' }, `${fixed},.qr`)
          const late = await draw(tag, { name: 'waiting', hasContact: false }, `${fixed},.qr`)
          assert.deepEqual(late, first, `${tag}, without contact`)
          const { qr: _, ...rest } = first
          for (const screens of [
            { name: 'waiting', hasCode: false },
            { name: 'scanned' },
            { name: 'evaluating' },
            { name: 'step_up' },
          ])
            assert.deepEqual(await draw(tag, screens, fixed), rest, `${tag}, ${screens.name}`)
          for (const name of [
            'bonded',
            'completed',
            'in_review',
            'declined',
            'unexpected',
            'expired',
          ])
            assert.equal((await draw(tag, { name }, fixed))['box'], first['box'], `${tag}, ${name}`)
        }
      },
    )

for (const locale of ['en', 'de', 'ar'])
  test(
    `a box of 180 × 150 px has a QR code, a countdown and links on one line in ${locale}`,
    browserTest,
    async () => {
      const page = await h.open({
        body: box(TINY),
        session: { qrContent: 'universal_link' },
        deviceScaleFactor: 2,
      })
      await init(page, { locale })
      await require(page, { context: PAIRS })
      await page.locator('.qr').waitFor()
      assert.equal(await readQrFrom(page), h.session.universalLink)
      assert.ok((await measure(page)).isInside)
      assert.match(await page.locator('.foot .short').innerText(), /^\d:\d\d$/)
      const tops = await page
        .locator('.foot > *')
        .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().top))
      assert.ok(Math.max(...tops) - Math.min(...tops) < 3, String(tops))
    },
  )

for (const style of [COMPACT, REGULAR])
  test(
    `the text in ${style} has the reader's default size, whatever size the page uses`,
    browserTest,
    async () => {
      const sizes = async (page: Page) => {
        await page.getByRole('button', { name: 'Help' }).click()
        return page.evaluate(`[...document.querySelector('[data-pulse-widget]').shadowRoot
          .querySelectorAll('.title, .body, .link, .pairs dd, .help p')]
          .map((part) => parseFloat(getComputedStyle(part).fontSize))`)
      }
      const plain = await h.waiting({ body: box(style), request: { context: PAIRS } })
      const expected = (await sizes(plain)) as number[]
      assert.ok(Math.min(...expected) >= 12, String(expected))
      const small = await h.waiting({
        body: `<style>html{font-size:10px}main{font-size:8px}</style>${box(style)}`,
        request: { context: PAIRS },
      })
      assert.deepEqual(await sizes(small), expected)
    },
  )

for (const locale of ['en', 'ar'])
  test(`labels and values line up with the page in ${locale}`, browserTest, async () => {
    const page = await h.open({ body: box(REGULAR) })
    await init(page, { locale })
    await require(page, { context: PAIRS })
    await page.locator('.qr').waitFor()
    const gaps: readonly number[] = await page.evaluate(`(() => {
      const list = document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('.pairs')
      return [...list.querySelectorAll('dt, dd')].map((part) => {
        const range = document.createRange()
        range.selectNodeContents(part)
        const [text, own] = [range.getBoundingClientRect(), part.getBoundingClientRect()]
        return ${locale === 'ar'} ? own.right - text.right : text.left - own.left
      })
    })()`)
    assert.equal(gaps.length, 4)
    for (const gap of gaps) assert.ok(Math.abs(gap) < 1, String(gaps))
  })

test(
  'a phone that reserves 440 px sees the pairs, each label in one line',
  browserTest,
  async () => {
    for (const width of [358, 314]) {
      const page = await h.open({
        body: box(`width:${width}px;height:440px`),
        hasTouch: true,
        isMobile: true,
      })
      await init(page)
      await require(page, {
        context: { display: [...PAIRS.display, { label: 'Applicant', value: 'Ada Lovelace' }] },
      })
      await page.locator('.qr').waitFor()
      assert.equal(await page.locator('.card').getAttribute('data-layout'), 'regular')
      assert.equal(await page.locator('dt').count(), 3)
      assert.ok(await page.locator('.pairs').isVisible())
      const lines = await page.evaluate(`(() => {
      const { shadowRoot } = document.querySelector('[data-pulse-widget]')
      return [...shadowRoot.querySelectorAll('dt')].map((label) => {
        const range = document.createRange()
        range.selectNodeContents(label)
        return range.getClientRects().length
      })
    })()`)
      assert.deepEqual(lines, [1, 1, 1], `${width} px`)
      assert.ok((await measure(page)).isInside, `${width} px`)
    }
  },
)

test('a page that enlarges the box gets the regular layout', browserTest, async () => {
  const page = await h.waiting({ body: box(COMPACT) })
  assert.equal((await measure(page)).layout, 'compact')
  await page.locator('[data-pulse-widget]').evaluate((host) => (host.style.height = '460px'))
  await page.locator('.card[data-layout=regular]').waitFor()
  assert.equal(await readQrFrom(page), h.session.payload)
})

test(
  'shows the pairs of the session, or else of the request, and no part of them',
  browserTest,
  async () => {
    const page = await h.open({ body: box(REGULAR) })
    await init(page)
    const rows = () => page.locator('.pairs div').allTextContents()
    const session = { ...h.worker.create().view(), context: PAIRS }
    await require(page, { session, context: { display: [{ label: 'Amount', value: '1' }] } })
    await page.locator('.qr').waitFor()
    assert.deepEqual(await rows(), ['Amount € 25,000.00', 'To DE89 3704 0044 0532 0130 00'])
    await page.getByText('From this page. Compare with your phone:').waitFor()
    await require(page, { context: { display: [PAIRS.display[0], { label: 'To' }] } })
    await page.locator('.same').waitFor({ state: 'hidden' })
    assert.deepEqual(await rows(), [])
  },
)

test(
  'draws each value of the page verbatim, in a box that it cannot leave',
  browserTest,
  async () => {
    const hostile = [
      `Kilroy\n\n  Amount   € 12.00\u2028Amount € 12.00`,
      `\u202egnp.\u202d ${'\u0335\u0336\u0489'.repeat(60)}`,
      `${'W'.repeat(90)}\u00a0\u3000\u2800x`,
      '<b>€ 12.00</b>&nbsp;',
    ]
    const display = hostile.map((value) => ({ label: `To${value.slice(0, 9)}`, value }))
    const page = await h.open({ body: box('height:900px;max-width:360px') })
    await init(page)
    await require(page, { context: { display } })
    await page.locator('.qr').waitFor()
    assert.deepEqual(await page.locator('dd').allTextContents(), hostile)
    const drawn: { readonly rects: readonly Boxed[]; readonly right: number } =
      await page.evaluate(`(() => {
        const list = document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('.pairs')
        const rects = [...list.querySelectorAll('dt, dd')].map((part) => {
          const { left, right } = part.getBoundingClientRect()
          const { overflow, whiteSpace } = getComputedStyle(part)
          return { left, right, overflow, whiteSpace }
        })
        return { rects, right: list.getBoundingClientRect().right }
      })()`)
    for (const { overflow, whiteSpace, right } of drawn.rects) {
      // What a value paints beyond its own box is cut off.
      assert.deepEqual([overflow, whiteSpace], ['clip', 'pre-wrap'])
      assert.ok(right <= drawn.right + 1)
    }
    // Labels and values have columns of their own, so that no value imitates a row.
    const [labels, values] = [0, 1].map((column) =>
      drawn.rects.filter((_, index) => index % 2 === column),
    )
    for (const value of values!)
      for (const label of labels!) assert.ok(value.left >= label.right, JSON.stringify(drawn))
  },
)
