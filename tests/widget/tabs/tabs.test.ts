import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

test('two tabs with the same form have a session each', realBrowser, async () => {
  const context = await desk.newContext()
  const first = await desk.open({ amount: 1 }, { context })
  const firstSession = desk.session
  const second = await desk.open({ amount: 1 }, { context })
  assert.notEqual(desk.session.id, firstSession.id)
  await desk.reach('bonded')
  assert.equal((await desk.outcome(second)).sessionId, desk.session.id)
  await screen(first, 'waiting')
})

test('widgets in two containers each follow their own bond', realBrowser, async () => {
  const page = await desk.open({ amount: 1 })
  const left = desk.session
  await page.evaluate(() => {
    const { document, Pulse, setup } = globalThis as unknown as Bank
    document.querySelector('main').append(document.createElement('section'))
    document.querySelector('section').id = 'right'
    document.querySelector('section').style.minHeight = '440px'
    Pulse.init({ ...setup, containerId: 'right' })
  })
  await desk.apply(page, { amount: 2 })
  await page.locator('#right .qr').waitFor()
  await desk.reach('bonded')
  assert.equal((await desk.outcome(page, 1)).sessionId, desk.session.id)
  const { phone } = await desk.claim(left)
  await desk.service.decline(phone, left)
  assert.equal((await desk.outcome(page, 0)).reason, 'user_declined')
})

test(
  'a page in the back-forward cache has no channel, and shows the current state when it is back',
  realBrowser,
  async () => {
    const page = await desk.open()
    const closed = page.context().pages().length
    assert.equal(closed, 1)
    const socketClosed = new Promise((resolve) => page.once('websocket', resolve))
    await transition(page, 'pagehide', true)
    await desk.reach('scanned')
    assert.equal(await page.locator('.card').getAttribute('data-screen'), 'waiting')
    await transition(page, 'pageshow', true)
    await screen(page, 'scanned')
    await socketClosed
  },
)

test('reports a page that the user leaves for good', realBrowser, async () => {
  const page = await desk.open()
  await transition(page, 'pagehide', false)
  assert.deepEqual(await desk.outcome(page), {
    state: 'unavailable',
    sessionId: null,
    reason: 'page_hidden',
  })
})

for (const days of [-1, 1])
  test(`bonds on a computer whose clock is ${days} day off`, realBrowser, async () => {
    const page = await desk.visit({ clock: Date.now() + days * 86_400_000 })
    await desk.apply(page)
    await page.clock.runFor(1_000)
    await page.locator('.qr').waitFor()
    await page.getByText(/^(4:5\d|5:00) left$/).waitFor()
    await desk.reach('bonded')
    assert.equal((await desk.outcome(page)).sessionId, desk.session.id)
  })

/** The part of the page that these tests use. */
interface Bank {
  // oxlint-disable-next-line typescript/no-explicit-any -- the compiler has no DOM here
  readonly document: any
  readonly setup: object
  readonly Pulse: { init(setup: object): void }
}

/** Tells the page what the browser tells it on the way into or out of the cache. */
function transition(page: Page, type: string, persisted: boolean): Promise<void> {
  return page.evaluate(
    ([name, kept]) => {
      const scope = globalThis as unknown as {
        dispatchEvent(event: unknown): void
        PageTransitionEvent: new (type: string, init: object) => unknown
      }
      scope.dispatchEvent(new scope.PageTransitionEvent(name, { persisted: kept }))
    },
    [type, persisted] as const,
  )
}
