import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

const CANCELED = { state: 'killed', sessionId: null, reason: 'canceled' }
/** Enough for both orders to occur. */
const RACES = 12

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

for (const state of ['waiting', 'scanned', 'evaluating', 'step_up'] as const)
  test(
    `Cancel on the screen ${state} ends the session for the phone too`,
    realBrowser,
    async () => {
      const page = await desk.visit()
      if (state === 'step_up') desk.workflow = 'strict'
      await desk.apply(page)
      await page.locator('.qr').waitFor()
      await desk.reach(state)
      await screen(page, state)
      await page.getByRole('button', { name: 'Cancel' }).click()
      assert.deepEqual(await desk.outcome(page), CANCELED)
      await screen(page, 'killed')
      assert.equal(await desk.stateOf(), 'killed')
      assert.equal(await page.getByRole('button', { name: 'Cancel' }).isVisible(), false)
    },
  )

test(
  'Try again hands the request back to the page, which gets a new session',
  realBrowser,
  async () => {
    const page = await desk.open()
    const first = desk.session
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.qr').waitFor()
    assert.notEqual(desk.session.id, first.id)
    await desk.reach('bonded')
    assert.deepEqual(await desk.outcome(page), { state: 'bonded', sessionId: desk.session.id })
    assert.deepEqual(await desk.outcome(page, 0), CANCELED)
  },
)

test(
  'of Cancel and an approval, one takes effect, and the page reports which',
  realBrowser,
  async (t) => {
    const seen = new Map<string, number>()
    const page = await desk.visit()
    for (let race = 0; race < RACES; race++) {
      await desk.apply(page, { amount: race })
      await page.locator('.qr').waitFor()
      const { phone, view } = await desk.claim()
      await screen(page, 'scanned')
      // Found before the race: the bond removes the button, and a locator would wait for it.
      const cancel = await page.getByRole('button', { name: 'Cancel' }).elementHandle()
      assert.ok(cancel)
      await Promise.all([
        cancel.evaluate((button) => button.click()),
        desk.service.attest(phone, view),
      ])
      const { state, sessionId } = await desk.outcome(page)
      assert.equal(state, await desk.stateOf())
      assert.equal(sessionId, state === 'bonded' ? desk.session.id : null)
      await screen(page, state)
      seen.set(state, (seen.get(state) ?? 0) + 1)
    }
    t.diagnostic(JSON.stringify([...seen]))
  },
)

test('Cancel without a connection ends the request at the page', realBrowser, async () => {
  const page = await desk.open()
  desk.network.isDown = true
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.deepEqual(await desk.outcome(page), { ...CANCELED, state: 'unavailable' })
  await screen(page, 'killed')
})

test(
  'Cancel before the backend has responded cancels the session that it then creates',
  realBrowser,
  async () => {
    const page = await desk.visit()
    const held = Promise.withResolvers<void>()
    await page.route('**/bond-session', async (route) => {
      await held.promise
      await route.continue()
    })
    await desk.apply(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.deepEqual(await desk.outcome(page), { ...CANCELED, state: 'unavailable' })
    const canceled = page.waitForResponse((response) => response.url().endsWith('/cancel'))
    held.resolve()
    await canceled
    assert.equal(await desk.stateOf(), 'killed')
  },
)

test(
  'a rejected code says so: “This wasn’t me” offers no further attempt',
  realBrowser,
  async () => {
    const page = await desk.open()
    const { phone } = await desk.claim()
    await desk.service.decline(phone, desk.session, 'user_unexpected')
    const outcome = await desk.outcome(page)
    assert.deepEqual(outcome, { state: 'killed', sessionId: null, reason: 'user_unexpected' })
    await screen(page, 'unexpected')
    assert.equal(await page.getByRole('button', { name: 'Try again' }).isVisible(), false)
  },
)
