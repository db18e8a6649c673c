import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, Harness, init, noBrowser, outcome, require, screen } from './harness.ts'
import { noZbar, readQr, readQrFrom, readQrWithZbar } from './read-qr.ts'

const COMPACT = 'display:block;min-height:168px;max-width:360px'
const REGULAR = 'display:block;min-height:440px;max-width:360px'
const box = (style: string) => `<div data-pulse-widget style="${style}"></div>`
const PAIRS = {
  display: [
    { label: 'Amount', value: '€ 25,000.00' },
    { label: 'To', value: 'DE89 3704 0044 0532 0130 00' },
  ],
}
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
  'returns to its height when a window that was narrow for a moment is wide again',
  browserTest,
  async () => {
    for (const style of [COMPACT, REGULAR]) {
      const page = await h.waiting({ body: box(style), request: { context: PAIRS } })
      const { boxHeight } = await measure(page)
      await page.setViewportSize({ width: 120, height: 560 })
      await page.waitForFunction(
        `document.querySelector('[data-pulse-widget]').offsetHeight > ${boxHeight}`,
      )
      await page.setViewportSize({ width: 420, height: 560 })
      await page.waitForFunction(
        `document.querySelector('[data-pulse-widget]').offsetHeight === ${boxHeight}`,
      )
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

test('a box too small for the content closes instead of cutting it', browserTest, async () => {
  const page = await h.open({ body: box('height:168px;width:184px'), clock: true })
  await init(page)
  await require(page)
  await page.clock.runFor(3_000)
  assert.deepEqual(await outcome(page), {
    state: 'unavailable',
    sessionId: null,
    reason: 'container_hidden',
  })
})

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
    await require(page, { context: { display: [PAIRS.display[0], { label: 'To' }] } })
    await page.locator('.same').waitFor({ state: 'hidden' })
    assert.deepEqual(await rows(), [])
  },
)
