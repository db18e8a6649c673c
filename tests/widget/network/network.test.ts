import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

const RECONNECTING = 'Reconnecting…'

test('bonds and completes where the network blocks WebSockets', realBrowser, async () => {
  const page = await desk.visit()
  desk.network.sockets = 'refuse'
  await desk.apply(page)
  await page.locator('.qr').waitFor()
  const { phone, view } = await desk.claim()
  await screen(page, 'scanned')
  await desk.service.attest(phone, view)
  await screen(page, 'bonded')
  assert.equal((await desk.outcome(page)).sessionId, desk.session.id)
  assert.equal(await page.getByText(RECONNECTING).count(), 0)
})

test(
  'polls when sockets open and then stay silent, and shows each state',
  realBrowser,
  async () => {
    const page = await desk.open()
    desk.network.sockets = 'silent'
    const polls = page.waitForRequest((request) => request.url().includes('wait_ms'))
    const { phone, view } = await desk.claim()
    await screen(page, 'scanned')
    await polls
    await desk.service.attest(phone, view)
    await screen(page, 'bonded')
    assert.equal((await desk.outcome(page)).sessionId, desk.session.id)
  },
)

test(
  'says that it reconnects while the service cannot be reached, and continues when it is back',
  realBrowser,
  async () => {
    const page = await desk.open()
    desk.network.isDown = true
    await page.getByText(RECONNECTING).waitFor()
    assert.equal(await page.locator('.qr').count(), 0, 'no phone can use the code')
    assert.equal(await page.locator('.body').textContent(), '', 'and no sentence tells to scan it')
    desk.network.isDown = false
    await page.getByText(RECONNECTING).waitFor({ state: 'hidden' })
    await page.locator('.qr').waitFor()
    await desk.reach('bonded')
    assert.equal((await desk.outcome(page)).sessionId, desk.session.id)
  },
)

test(
  'a browser that is offline and comes back shows what happened meanwhile',
  realBrowser,
  async () => {
    const context = await desk.newContext()
    const page = await desk.open({}, { context })
    await context.setOffline(true)
    desk.network.isDown = true
    await page.getByText(RECONNECTING).waitFor()
    const { phone, view } = await desk.claim()
    await desk.service.attest(phone, view)
    desk.network.isDown = false
    await context.setOffline(false)
    await screen(page, 'bonded')
    assert.equal((await desk.outcome(page)).sessionId, desk.session.id)
  },
)
