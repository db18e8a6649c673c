import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

type Claim = Awaited<ReturnType<Desk['claim']>>

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start(openBrowser({ keepsPages: true }))
})
after(() => desk?.[Symbol.asyncDispose]())

test(
  'a page that a user leaves and returns to shows the current state, and bonds',
  realBrowser,
  async () => {
    const page = await desk.open()
    await page.evaluate(`addEventListener('pageshow', ({ persisted }) => { wasKept = persisted })`)
    await page.goto(`${desk.site}/another-page`)
    const bond = await desk.claim()
    await page.evaluate('history.back()')
    await page.waitForFunction('globalThis.wasKept === true')
    await screen(page, 'scanned')
    await finish(page, bond)
  },
)

test(
  'a tab that the browser froze shows the current state when it continues, and bonds',
  realBrowser,
  async () => {
    const page = await desk.open()
    const browser = await page.context().newCDPSession(page)
    await browser.send('Page.setWebLifecycleState', { state: 'frozen' })
    const bond = await desk.claim()
    await browser.send('Page.setWebLifecycleState', { state: 'active' })
    await screen(page, 'scanned')
    await finish(page, bond)
  },
)

test(
  'a tab that the browser froze until the session expired says so when it continues',
  realBrowser,
  async () => {
    const page = await desk.open()
    const browser = await page.context().newCDPSession(page)
    await browser.send('Page.setWebLifecycleState', { state: 'frozen' })
    desk.clock.advance(301_000)
    await browser.send('Page.setWebLifecycleState', { state: 'active' })
    await screen(page, 'expired')
    assert.deepEqual(await desk.outcome(page), { state: 'expired', sessionId: null })
  },
)

/** Bonds the newest session, and expects its page to report it. */
async function finish(page: Page, { phone, view }: Claim): Promise<void> {
  await desk.service.attest(phone, view)
  await screen(page, 'bonded')
  assert.deepEqual(await desk.outcome(page), { state: 'bonded', sessionId: desk.session.id })
}
