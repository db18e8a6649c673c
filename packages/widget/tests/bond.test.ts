import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  browserTest,
  Harness,
  init,
  noBrowser,
  type OnPage,
  outcome,
  PURPOSE,
  require,
  screen,
  until,
} from './harness.ts'
import { readQr } from './read-qr.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

test(
  'the code on the screen is the session’s payload, read from the pixels',
  browserTest,
  async () => {
    const page = await h.waiting()
    assert.equal(readQr(await page.screenshot()), h.session.payload)
    assert.deepEqual(h.asked.at(-1), { ...PURPOSE })
  },
)

test('a dark page shows a code that scans all the same', browserTest, async () => {
  const page = await h.waiting({ colorScheme: 'dark' })
  assert.equal(readQr(await page.screenshot()), h.session.payload)
})

test('when the challenge rotates, the new code is shown', browserTest, async () => {
  const page = await h.waiting()
  const old = await page.locator('.qr path').nth(1).getAttribute('d')
  h.session.rotate()
  await page.locator(`a[href="${h.session.universalLink}"]`).first().waitFor({ state: 'attached' })
  assert.notEqual(await page.locator('.qr path').nth(1).getAttribute('d'), old)
  assert.equal(readQr(await page.screenshot()), h.session.payload)
})

test(
  'scanned, evaluating, bonded and completed are shown as they happen, and bonded resolves with the session',
  browserTest,
  async () => {
    const page = await h.waiting()
    h.session.hinted('scanned')
    await screen(page, 'scanned')
    assert.equal(await page.locator('.qr').count(), 0)
    h.session.hinted('evaluating')
    await screen(page, 'evaluating')
    h.session.moved('bonded')
    await screen(page, 'bonded')
    assert.deepEqual(await outcome(page), { state: 'bonded', sessionId: h.session.id })
    h.session.moved('completed')
    await screen(page, 'completed')
  },
)

test('a step-up is shown, and the bond that follows resolves', browserTest, async () => {
  const page = await h.waiting()
  h.session.moved('step_up_required')
  await screen(page, 'step_up')
  h.session.moved('bonded')
  assert.equal((await outcome(page)).state, 'bonded')
})

for (const [ending, { state, reason, shows }] of Object.entries({
  'a decline': { state: 'killed', reason: 'user_declined', shows: 'declined' },
  '“this was not me”': { state: 'killed', reason: 'user_unexpected', shows: 'unexpected' },
  'a phone that could not prove it': {
    state: 'killed',
    reason: 'not_verified',
    shows: 'not_verified',
  },
  'a session killed by its tenant': { state: 'killed', reason: 'killed', shows: 'killed' },
  expiry: { state: 'expired', reason: undefined, shows: 'expired' },
}))
  test(`${ending} resolves without a session id and says so`, browserTest, async () => {
    const page = await h.waiting()
    h.session.moved(state, reason)
    await screen(page, shows)
    assert.deepEqual(await outcome(page), { state, sessionId: null, ...(reason && { reason }) })
  })

test(
  'a session that the page has already is watched without asking the endpoint',
  browserTest,
  async () => {
    const page = await h.open()
    await init(page, { sessionEndpoint: undefined, containerId: undefined })
    const asked = h.asked.length
    const session = h.worker.create(PURPOSE)
    await require(page, { session: session.view() })
    await screen(page, 'waiting')
    assert.equal(h.asked.length, asked)
    session.moved('bonded')
    assert.equal((await outcome(page)).sessionId, session.id)
  },
)

test('the context goes to the endpoint as a hint', browserTest, async () => {
  const page = await h.open()
  await init(page)
  await require(page, { context: { amount: '12 500' } })
  await screen(page, 'waiting')
  assert.deepEqual(h.asked.at(-1), { ...PURPOSE, context: { amount: '12 500' } })
})

test('a second call for the same action gets the bond that is running', browserTest, async () => {
  const page = await h.waiting()
  const first = outcome(page)
  const asked = h.asked.length
  await require(page)
  h.session.moved('bonded')
  assert.deepEqual(await outcome(page), await first)
  assert.equal(h.asked.length, asked)
})

test(
  'a call for another action ends the first as unavailable, superseded',
  browserTest,
  async () => {
    const page = await h.waiting()
    const first = outcome(page)
    await page.evaluate(
      () => void (globalThis as unknown as OnPage).Pulse.requireBond({ action: 'approve_wire' }),
    )
    assert.deepEqual(await first, { state: 'unavailable', sessionId: null, reason: 'superseded' })
    await until(() => h.sessions.length === 2)
    await screen(page, 'waiting')
  },
)
