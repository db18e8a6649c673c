import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { HeldRequests } from './held-requests.ts'
import { carry, installSensors } from './motion-driver.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

/*
 * The round trips that a user waits for, one after another, from the scan to the bond. On a mobile
 * network each of them takes half a second or more. A request while the user reads a screen does
 * not count: the page ignores taps for the first second of a screen. The evidence needs eight
 * seconds of motion, for which an approval waits anyway.
 */

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (browserMissing) return
  sandbox = await Sandbox.start()
  // The first registration loads and compiles its checks. On a busy machine that takes longer than
  // a request may, and the phone would send another one.
  const { context, open } = await sandbox.phone()
  await open(await sandbox.create())
  await context.close()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

for (const { locale, words, button, approve } of [
  { locale: 'en-US', words: [], button: 'Set up this phone', approve: 'Approve' },
  {
    locale: 'de-DE',
    words: ['GET /bond/words-{hash}/de.json'],
    button: 'Dieses Handy einrichten',
    approve: 'Freigeben',
  },
])
  test(
    `a first visit has five round trips, and the next three: ${locale}`,
    browserTest,
    async () => {
      await using requests = await HeldRequests.start()
      const { context, page } = await sandbox.phone({}, { locale, proxy: requests.proxy })
      await installSensors(page, 'granted')
      void page.goto((await sandbox.create()).universal_link)
      await requests.roundTrip('GET /bond')
      await requests.roundTrip(
        'GET /bond/page-{hash}.js',
        'GET /sessions/{id}/invitation',
        ...words,
      )
      await screen(page, 'setup')
      await requests.whileReading('POST /devices/challenges')
      await press(page, button)
      await requests.roundTrip('POST /devices')
      await requests.roundTrip('POST /sessions/{id}/claim')
      await screen(page, 'request')
      await carry(sandbox, page, 8)
      await requests.whileReading('POST /evidence')
      await press(page, approve)
      await requests.roundTrip('POST /attestations')
      await screen(page, 'approved')
      // The channel reported the bond.
      await requests.whileReading('GET /sessions/{id}')
      assert.equal(requests.roundTrips, 5)

      requests.roundTrips = 0
      const next = await sandbox.create()
      void page.goto(next.universal_link)
      await requests.roundTrip('GET /bond')
      await requests.roundTrip('POST /sessions/{id}/claim')
      await screen(page, 'request')
      await carry(sandbox, page, 8)
      await requests.whileReading('POST /evidence')
      await press(page, approve)
      await requests.roundTrip('POST /attestations')
      await screen(page, 'approved')
      // The channel reported the bond.
      await requests.whileReading('GET /sessions/{id}')
      assert.equal(requests.roundTrips, 3)
      assert.equal((await sandbox.stateOf(next)).state, 'bonded')
      assert.deepEqual(requests.waiting, [], 'no request was in vain')
      await context.close()
    },
  )

test('reloads and other tabs use up one evidence request of a session', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  let evidenceRequests = 0
  phone.context.on('request', (request) => {
    if (request.url().endsWith('/evidence')) evidenceRequests++
  })
  const read = async (page: Page) => {
    await screen(page, 'request')
    await carry(sandbox, page, 8)
  }
  await installSensors(phone.page, 'granted')
  await phone.open(session)
  const first = phone.page.waitForResponse('**/evidence')
  await read(phone.page)
  await first
  const tab = await phone.newTab()
  await installSensors(tab, 'granted')
  await phone.shareWith(tab)
  await tab.goto(session.universal_link)
  await read(tab)
  await tab.reload()
  await read(tab)
  await press(tab, 'Approve')
  await screen(tab, 'approved')
  // The approval in the last tab needs its own.
  assert.equal(evidenceRequests, 2)
  await phone.context.close()
})

test('a phone that lay still gives new evidence when its user approves', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  await installSensors(phone.page, 'granted')
  await phone.open(session)
  const early = phone.page.waitForResponse('**/evidence')
  await phone.page.evaluate('rest(8)')
  sandbox.advance(8_000)
  await early
  assert.equal((await sandbox.stateOf(session)).hint, 'scanned', 'the user still reads')
  await carry(sandbox, phone.page, 20)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  const { verification } = await sandbox.stateOf(session)
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
  await phone.context.close()
})

test('a computer requests the document and the script only', browserTest, async () => {
  await using requests = await HeldRequests.start()
  const look = { hasTouch: false, isMobile: false, proxy: requests.proxy }
  const { context, page } = await sandbox.phone({}, look)
  void page.goto((await sandbox.create()).universal_link)
  await requests.roundTrip('GET /bond')
  await requests.roundTrip('GET /bond/page-{hash}.js')
  await screen(page, 'desktop')
  assert.deepEqual(requests.waiting, [])
  await context.close()
})
