import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, computed, Harness, noBrowser, require, screen } from './harness.ts'
import { readQrFrom } from './read-qr.ts'

const axe = createRequire(import.meta.url).resolve('axe-core')
const PHONE = {
  viewport: { width: 360, height: 740 },
  hasTouch: true,
  isMobile: true,
  deviceScaleFactor: 2,
}
/** A box with room for the regular layout. */
const REGULAR = '<div data-pulse-widget style="display:block;min-height:440px"></div>'
let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

async function violations(page: Page): Promise<unknown[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.addScriptTag({ path: axe })
  return page.evaluate(`axe.run('[data-pulse-widget]', { resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ failureSummary }) => failureSummary)]))`)
}

for (const colorScheme of ['light', 'dark'] as const)
  test(`passes axe in ${colorScheme}, in every tone`, browserTest, async () => {
    const page = await h.waiting({ colorScheme })
    assert.deepEqual(await violations(page), [])
    for (const [state, reason, shows] of [
      ['bonded', null, 'bonded'],
      ['killed', 'user_declined', 'declined'],
      ['killed', 'user_unexpected', 'unexpected'],
      ['killed', 'not_verified', 'not_verified'],
    ] as const) {
      await require(page, { context: { shows } })
      await page.locator('.qr').waitFor()
      h.session.moved(state, reason)
      await screen(page, shows)
      assert.deepEqual(await violations(page), [])
    }
  })

test('passes axe on a phone', browserTest, async () => {
  assert.deepEqual(await violations(await h.waiting(PHONE)), [])
})

test(
  'announces changes of state to a screen reader, but no rotation and no countdown',
  browserTest,
  async () => {
    const page = await h.waiting({ clock: true })
    const spoken = () => page.evaluate('spoken')
    await page.evaluate(`
    globalThis.spoken = []
    for (const region of document.querySelector('[data-pulse-widget]').shadowRoot.querySelectorAll('[role=status], [aria-live]'))
      new MutationObserver(() => spoken.push(region.textContent)).observe(region, { subtree: true, childList: true, characterData: true })
  `)
    h.session.rotate()
    await page
      .locator(`a[href="${h.session.universalLink}"]`)
      .first()
      .waitFor({ state: 'attached' })
    await page.clock.runFor(5_000)
    await page
      .getByText(/^4:5\d( left)?$/)
      .filter({ visible: true })
      .waitFor()
    assert.deepEqual(await spoken(), [])
    h.session.hinted('scanned')
    await screen(page, 'scanned')
    assert.deepEqual(await spoken(), [
      'Check your phoneRead the request on your phone, and approve it there if it is yours.',
    ])
  },
)

test('shows the link before the QR code on a touch device', browserTest, async () => {
  const page = await h.waiting({ ...PHONE, body: REGULAR })
  const link = await page.getByRole('link', { name: 'Continue on this phone' }).boundingBox()
  const code = await page
    .getByRole('img', { name: 'QR code to scan with your phone' })
    .boundingBox()
  assert.ok(link && code && link.y + link.height <= code.y)
  assert.equal(
    await page.getByRole('link', { name: 'Continue on this phone' }).getAttribute('href'),
    h.session.universalLink,
  )
})

test('takes a tap at least 24 px high on each link of a touch device', browserTest, async () => {
  for (const body of [REGULAR, '<div data-pulse-widget></div>']) {
    const page = await h.waiting({ ...PHONE, body })
    const heights: readonly number[] = await page.evaluate(`(() => {
      const { shadowRoot } = document.querySelector('[data-pulse-widget]')
      return [...shadowRoot.querySelectorAll('.foot .link')].map((link) => {
        const { left, right, top, bottom } = link.getBoundingClientRect()
        let height = 0
        for (let y = top - 40; y < bottom + 40; y += 1)
          if (shadowRoot.elementFromPoint((left + right) / 2, y) === link) height += 1
        return height
      })
    })()`)
    assert.equal(heights.length, 2)
    assert.ok(Math.min(...heights) >= 24, String(heights))
  }
})

for (const [what, viewport] of Object.entries({
  '320 px wide': { width: 320, height: 600 },
  'zoomed to 200 %': { width: 380, height: 320 },
}))
  test(`${what}, shows everything and a QR code that scans`, browserTest, async () => {
    const page = await h.waiting({ viewport, deviceScaleFactor: 2 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width)
    assert.equal(await readQrFrom(page, { fullPage: true }), h.session.payload)
  })

test('keeps the QR code dark on light in forced colors', browserTest, async () => {
  const page = await h.waiting({ forcedColors: 'active', colorScheme: 'dark' })
  assert.equal(await readQrFrom(page), h.session.payload)
})

test('shows no animation with reduced motion', browserTest, async () => {
  const page = await h.waiting({ reducedMotion: 'reduce' })
  h.session.hinted('scanned')
  await screen(page, 'scanned')
  assert.equal(await computed(page.locator('.stage .badge'), 'animation-name'), 'none')
})
