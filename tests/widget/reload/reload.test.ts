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
  'resumes the session after a reload with the same form, in its current state',
  realBrowser,
  async () => {
    const page = await desk.open({ amount: 100 })
    const { session } = desk
    await page.reload()
    const { phone, view } = await desk.claim()
    await desk.apply(page, { amount: 100 })
    await screen(page, 'scanned')
    assert.equal(desk.session, session)
    await desk.service.attest(phone, view)
    assert.equal((await desk.outcome(page)).sessionId, session.id)
  },
)

test('requests a new session after a reload with a changed form', realBrowser, async () => {
  const page = await desk.open({ amount: 100 })
  const { session } = desk
  await page.reload()
  await desk.apply(page, { amount: 1_000 })
  await page.locator('.qr').waitFor()
  assert.notEqual(desk.session.id, session.id)
  const bond = await desk.claim(session)
  await desk.service.attest(bond.phone, bond.view)
  await desk.reach('scanned')
  await screen(page, 'scanned')
  assert.equal(await desk.stateOf(), 'pending', 'the old bond approves nothing here')
})

test('stores no value of the form', realBrowser, async () => {
  const page = await desk.open({ amount: 123_456_789 })
  const stored = await page.evaluate('JSON.stringify({ ...sessionStorage })')
  assert.match(String(stored), /sess_/)
  assert.doesNotMatch(String(stored), /123456789/)
})
