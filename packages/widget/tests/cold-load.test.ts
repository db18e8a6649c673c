import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, Harness, noBrowser, PUBLISHABLE_KEY, PURPOSE } from './harness.ts'

/** Set to 100 to measure what the test checks with a few loads. */
const LOADS = Number(process.env['COLD_LOADS'] ?? 3)
/** The box of the container contract, and one for the regular layout. */
const BOXES = {
  'the described box': [168, 'display:block;min-height:168px;max-width:360px'],
  'a box of 440 px': [440, 'display:block;min-height:440px;max-width:360px'],
} as const
const CONTEXT = { display: [{ label: 'Amount', value: '€ 25,000.00' }] }
const REQUEST = JSON.stringify({ action: PURPOSE.action, context: CONTEXT })
const SETUP = JSON.stringify({
  publishableKey: PUBLISHABLE_KEY,
  workflow: PURPOSE.workflow,
  sessionEndpoint: '/bond-session',
})
let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** What a page saw from its first frame on. */
interface Load {
  readonly shift: number
  readonly heights: readonly number[]
  /** The broken rules that reached the page. A slow browser may report `unverified` first. */
  readonly breaches: readonly string[]
}

/** Runs before the page's own scripts. */
const RECORD = `
  window.load = { shift: 0, heights: [], breaches: [] }
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) load.shift += value
  }).observe({ type: 'layout-shift', buffered: true })
  addEventListener('pulse:containment', ({ detail }) => {
    window.verdict = detail.verdict
    if (verdict === 'breached') load.breaches.push(...detail.breaches)
  })
  const look = () => {
    const box = document.querySelector('[data-pulse-widget]')
    if (box && box.offsetHeight !== load.heights.at(-1)) load.heights.push(box.offsetHeight)
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)`

/** Loads a page that requests its bond at once, with an empty cache. */
async function coldLoad(style: string): Promise<Load> {
  const page: Page = await h.open({
    body: '<p>No widget yet</p>',
    scripts: '',
  })
  await page.addInitScript(RECORD)
  h.serve({
    body: `<div data-pulse-widget style="${style}"></div>
      <p>The page goes on.</p><script>Pulse.init(${SETUP}); Pulse.requireBond(${REQUEST})</script>`,
  })
  await page.goto(h.siteUrl)
  await page.locator('[data-breached=false] .qr path + path').waitFor()
  // Longer than the observer of the browser takes to report.
  await page.waitForFunction(`window.verdict === 'ok'`)
  return page.evaluate('load') as Promise<Load>
}

for (const [name, [height, style]] of Object.entries(BOXES))
  for (const delayMs of [0, 1_000, 3_000])
    test(`moves nothing and breaks no rule in ${name} when the styles take ${delayMs} ms`, {
      ...browserTest,
      timeout: LOADS * 20_000,
    }, async () => {
      h.worker.reports.length = 0
      h.worker.stylesDelayMs = delayMs
      for (let loads = 0; loads < LOADS; loads += 1)
        assert.deepEqual(await coldLoad(style), { shift: 0, heights: [height], breaches: [] })
      assert.doesNotMatch(JSON.stringify(h.worker.reports), /breached/)
    })
