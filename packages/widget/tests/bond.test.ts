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
import { readQrFrom } from './read-qr.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

test('draws a QR code that scans as the session’s payload', browserTest, async () => {
  const page = await h.waiting()
  assert.equal(await readQrFrom(page), h.session.payload)
  assert.deepEqual(h.requests.at(-1), { ...PURPOSE })
})

test('draws a QR code that scans on a dark page', browserTest, async () => {
  const page = await h.waiting({ colorScheme: 'dark' })
  assert.equal(await readQrFrom(page), h.session.payload)
})

test('draws the new QR code when the challenge rotates', browserTest, async () => {
  const page = await h.waiting()
  const old = await page.locator('.qr path').nth(1).getAttribute('d')
  h.session.rotate()
  await page.locator(`a[href="${h.session.universalLink}"]`).first().waitFor({ state: 'attached' })
  assert.notEqual(await page.locator('.qr path').nth(1).getAttribute('d'), old)
  assert.equal(await readQrFrom(page), h.session.payload)
})

test(
  'shows scanned, evaluating, bonded and completed, and resolves with the session when bonded',
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

test('shows a step-up, and resolves with the bond that follows', browserTest, async () => {
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
  test(`resolves without a session id when ${ending}, and names the end`, browserTest, async () => {
    const page = await h.waiting()
    h.session.moved(state, reason)
    await screen(page, shows)
    assert.deepEqual(await outcome(page), { state, sessionId: null, ...(reason && { reason }) })
  })

test('watches a given session without calling the endpoint', browserTest, async () => {
  const page = await h.open()
  await init(page, { sessionEndpoint: undefined, containerId: undefined })
  const before = h.requests.length
  const session = h.worker.create(PURPOSE)
  await require(page, { session: session.view() })
  await screen(page, 'waiting')
  assert.equal(h.requests.length, before)
  session.moved('bonded')
  assert.equal((await outcome(page)).sessionId, session.id)
})

test('sends the context to the endpoint as a hint', browserTest, async () => {
  const page = await h.open()
  await init(page)
  await require(page, { context: { amount: '12 500' } })
  await screen(page, 'waiting')
  assert.deepEqual(h.requests.at(-1), { ...PURPOSE, context: { amount: '12 500' } })
})

test('returns the bond in progress to a second call for the same action', browserTest, async () => {
  const page = await h.waiting()
  const first = outcome(page)
  const before = h.requests.length
  await require(page)
  h.session.moved('bonded')
  assert.deepEqual(await outcome(page), await first)
  assert.equal(h.requests.length, before)
})

test(
  'ends the first bond as superseded when the page requests another action',
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
