import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

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
    const tampering = { appId: 'another app' }
    const rejected = desk.service.attest(phone, view, { tampering })
    await screen(page, 'evaluating')
    assert.equal((await rejected).body.error.reason, 'assertion_invalid')
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
