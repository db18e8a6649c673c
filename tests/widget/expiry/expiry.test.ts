import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

test('an expired request is renewed with one press', realBrowser, async () => {
  const page = await desk.open()
  const { session } = desk
  desk.clock.advance(300_000)
  await screen(page, 'expired')
  assert.deepEqual(await desk.outcome(page), { state: 'expired', sessionId: null })
  await page.getByRole('button', { name: 'Get a new QR code' }).click()
  await page.locator('.qr').waitFor()
  assert.notEqual(desk.session.id, session.id)
})

test(
  'the help panel copies the link of the shown code, and closes when a phone has scanned',
  realBrowser,
  async () => {
    const context = await desk.newContext()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await desk.open({}, { context })
    await page.getByRole('button', { name: 'Help' }).click()
    const panel = page.getByRole('dialog', { name: 'Can’t scan?' })
    await panel.getByRole('button', { name: 'Copy link' }).click()
    await panel.getByText('Link copied').waitFor()
    const link = desk.session.universal_link
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), link)
    const open = panel.getByRole('link', { name: 'Open on this device' })
    assert.equal(await open.getAttribute('href'), link)
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Help' }).click()
    await desk.reach('scanned')
    await panel.waitFor({ state: 'hidden' })
    await screen(page, 'scanned')
  },
)
