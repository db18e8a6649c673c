import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

/** Stores the screens that the card has left, in order. */
const RECORD_SCREENS = `
  globalThis.left = []
  const card = document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('.card')
  new MutationObserver((changes) => changes.forEach(({ oldValue }) => left.push(oldValue)))
    .observe(card, { attributeFilter: ['data-screen'], attributeOldValue: true })`

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

test(
  'returns to “Check your phone” when the service rejects the assertion, and bonds with the next',
  realBrowser,
  async () => {
    const page = await desk.open()
    const { phone, view } = await desk.claim()
    await screen(page, 'scanned')
    // The page may show "Verifying" for a few milliseconds only, so it records its screens.
    await page.evaluate(RECORD_SCREENS)
    const tampering = { appId: 'another app' }
    const rejected = await desk.service.attest(phone, view, { tampering })
    assert.equal(rejected.body.error.reason, 'assertion_invalid')
    await page.waitForFunction("left.includes('evaluating')")
    await screen(page, 'scanned')
    await desk.service.attest(phone, view)
    await screen(page, 'bonded')
    assert.equal((await desk.outcome(page)).sessionId, desk.session.id)
  },
)

test(
  'returns to “Check your phone” when the phone sends evidence and then nothing',
  realBrowser,
  async () => {
    const page = await desk.open({}, { clock: Date.now() })
    await desk.reach('evaluating')
    await screen(page, 'evaluating')
    await page.clock.runFor(10_000)
    await screen(page, 'scanned')
  },
)
