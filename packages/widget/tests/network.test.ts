import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  browserTest,
  Harness,
  init,
  noBrowser,
  outcome,
  PURPOSE,
  PUBLISHABLE_KEY,
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

/** Advances the page's clock in steps, with a pause for the network after each. */
async function passTime(
  page: Page,
  { stepMs, while: goesOn }: { stepMs: number; while: () => boolean },
): Promise<void> {
  for (let step = 0; goesOn() && step < 200; step += 1) {
    await page.clock.runFor(stepMs)
    await page.evaluate(() => fetch('/').then(() => undefined))
  }
}

test(
  'offers bonded.v1, the watch token and the key, and reconnects with its last seq',
  browserTest,
  async () => {
    const page = await h.waiting()
    const { session, worker } = h
    assert.deepEqual(worker.callsOf('socket', session)[0]?.protocols, [
      'bonded.v1',
      `watch.${session.watchToken}`,
      `key.${PUBLISHABLE_KEY}`,
    ])
    session.hinted('scanned')
    await screen(page, 'scanned')
    worker.cutSockets()
    await until(() => worker.callsOf('socket', session).length === 2)
    assert.deepEqual(worker.callsOf('socket', session)[1]?.protocols, [
      'bonded.v1',
      `watch.${session.watchToken}`,
      `key.${PUBLISHABLE_KEY}`,
      'after.2',
    ])
    assert.ok(worker.callsOf('get', session).length > 0, 'a lost channel asks GET for the reason')
    session.moved('bonded')
    assert.equal((await outcome(page)).state, 'bonded')
  },
)

test(
  'polls for scanned, bonded and completed where WebSockets are blocked',
  browserTest,
  async () => {
    const page = await h.open()
    h.worker.sockets = 'refuse'
    await init(page)
    await require(page)
    await screen(page, 'waiting')
    const polls = () =>
      h.worker.callsOf('get', h.session).filter(({ query }) => query.has('wait_ms'))
    await until(() => polls().length > 0)
    h.session.hinted('scanned')
    await screen(page, 'scanned')
    h.session.moved('bonded')
    await screen(page, 'bonded')
    assert.equal((await outcome(page)).sessionId, h.session.id)
    assert.equal(h.worker.callsOf('socket', h.session).length, 2)
    const { headers, query } = polls()[0]!
    assert.match(headers.authorization ?? '', /^Bearer pk_beta_/)
    assert.equal(headers['x-bond-watch'], h.session.watchToken)
    assert.deepEqual([query.get('wait_ms'), query.get('after')], ['3000', '1'])
  },
)

test(
  'polls no longer than the QR code is valid, so that a rotated one appears',
  browserTest,
  async () => {
    const page = await h.open({ session: { rotatesInMs: 700 } })
    h.worker.sockets = 'refuse'
    await init(page)
    await require(page)
    await until(
      () =>
        h.sessions.length > 0 &&
        h.worker.callsOf('get', h.session).some(({ query }) => query.has('wait_ms')),
    )
    h.session.rotate()
    await page
      .locator(`a[href="${h.session.universalLink}"]`)
      .first()
      .waitFor({ state: 'attached' })
    assert.equal(await readQrFrom(page), h.session.payload)
  },
)

test(
  'ends as unavailable and hides an expired QR code when the service is unreachable',
  browserTest,
  async () => {
    const page = await h.waiting({ clock: true, session: { rotatesInMs: 8_000 } })
    const { session, worker } = h
    worker.responses = 'cut'
    worker.sockets = 'refuse'
    worker.cutSockets()
    let settled = false
    const result = outcome(page).finally(() => (settled = true))
    await passTime(page, { stepMs: 1_000, while: () => worker.callsOf('get', session).length < 6 })
    await page.clock.runFor(10_000)
    await page.getByText('Renewing the QR code…').waitFor()
    await passTime(page, { stepMs: 2_000, while: () => !settled })
    assert.deepEqual(await result, { state: 'unavailable', sessionId: null, reason: 'network' })
    await screen(page, 'unreachable')
  },
)

test('reconnects to a service that returns in time', browserTest, async () => {
  const page = await h.waiting()
  const { session, worker } = h
  worker.responses = 503
  worker.sockets = 'refuse'
  worker.cutSockets()
  await until(() => worker.callsOf('get', session).length >= 2)
  worker.responses = 'well'
  session.moved('bonded')
  assert.equal((await outcome(page)).state, 'bonded')
})

test('sends no request before the time in Retry-After', browserTest, async () => {
  const page = await h.waiting({ clock: true })
  const { session, worker } = h
  const reads = () => worker.callsOf('get', session).length
  worker.responses = 429
  worker.retryAfterSeconds = 20
  worker.sockets = 'refuse'
  worker.cutSockets()
  await passTime(page, { stepMs: 500, while: () => reads() < 1 })
  let steps = 0
  await passTime(page, { stepMs: 500, while: () => steps++ < 34 })
  assert.equal(reads(), 1)
  worker.responses = 'well'
  session.moved('bonded')
  let settled = false
  const result = outcome(page).finally(() => (settled = true))
  await passTime(page, { stepMs: 1_000, while: () => !settled })
  assert.equal((await result).state, 'bonded')
})

for (const [kind, status, reason] of [
  ['the service refuses this page', 403, 'service_refused'],
  ['the service does not know the session', 404, 'session_not_found'],
] as const)
  test(`ends as unavailable at once when ${kind}`, browserTest, async () => {
    const page = await h.waiting()
    h.worker.responses = status
    h.worker.sockets = 'refuse'
    h.worker.cutSockets()
    assert.deepEqual(await outcome(page), { state: 'unavailable', sessionId: null, reason })
  })

test('shows an expired session as expired after its purge', browserTest, async () => {
  const page = await h.waiting({ clock: true, session: { expiresInMs: 5_000 } })
  h.worker.purge(h.session)
  await page.clock.runFor(7_000)
  assert.deepEqual(await outcome(page), { state: 'expired', sessionId: null })
})

test('reads the session from the service at the end of the countdown', browserTest, async () => {
  const page = await h.waiting({ clock: true, session: { expiresInMs: 5_000 } })
  const { session, worker } = h
  await page.clock.runFor(7_000)
  await until(() => worker.callsOf('get', session).length > 0)
  await screen(page, 'waiting')
  session.moved('bonded')
  assert.equal((await outcome(page)).state, 'bonded')
})

test('draws the QR code from GET when a firewall swallows the handshake', browserTest, async () => {
  const page = await h.open()
  h.worker.sockets = 'hang'
  await init(page)
  await require(page)
  await page.locator('.qr').waitFor()
  assert.equal(await readQrFrom(page), h.session.payload)
})

test('draws no QR code while neither channel nor GET has responded', browserTest, async () => {
  const page = await h.open()
  h.worker.sockets = 'hang'
  h.worker.responses = 503
  await init(page)
  await require(page)
  await until(() => h.sessions.length > 0 && h.worker.callsOf('get', h.session).length > 0)
  await screen(page, 'starting')
  assert.equal(await page.locator('.qr').count(), 0)
})

test(
  'treats one lost response as a network fault, not as a rejected origin',
  browserTest,
  async () => {
    const page = await h.open()
    h.worker.sockets = 'refuse'
    h.worker.responses = 'cut once'
    await init(page)
    await require(page)
    await page.locator('.qr').waitFor()
  },
)

test('takes the state of a session from the service, not from the page', browserTest, async () => {
  const page = await h.open()
  await init(page)
  const session = h.worker.create()
  await require(page, { session: { ...session.view(), state: 'bonded', seq: 1_000 } })
  await page.locator('.qr').waitFor()
  session.moved('killed', 'user_declined')
  assert.deepEqual(await outcome(page), {
    state: 'killed',
    sessionId: null,
    reason: 'user_declined',
  })
})

test('sends GET first when the page wakes', browserTest, async () => {
  const page = await h.waiting()
  // A slow machine has already sent one, because the channel took long to open.
  const sent = h.worker.callsOf('get', h.session).length
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
  await until(() => h.worker.callsOf('get', h.session).length > sent)
})

for (const [what, spoil] of Object.entries({
  'another version of the envelope': { v: 2 },
  'a state it does not know': { state: 'suspended' },
  'another session': { session_id: 'sess_0123456789abcdefghijkl' },
}))
  test(`fails closed on a frame of ${what}`, browserTest, async () => {
    const page = await h.waiting()
    h.session.send({ ...h.session.frame('hint', {}), ...spoil })
    assert.deepEqual(await outcome(page), {
      state: 'unavailable',
      sessionId: null,
      reason: 'unknown_answer',
    })
    await screen(page, 'unavailable')
  })

test('tolerates a new frame type and a new hint of this version', browserTest, async () => {
  const page = await h.waiting()
  h.session.send(h.session.frame('weather', { sky: 'clear' }))
  h.session.hinted('humming')
  h.session.moved('bonded')
  assert.equal((await outcome(page)).state, 'bonded')
})

for (const [what, endpoint, reason] of [
  ['cannot be reached', 'http://127.0.0.1:1/bond-session', 'network'],
  ['answers something else', '/v1/pulse.js', 'session_endpoint_failed'],
] as const)
  test(`ends as unavailable when the session endpoint ${what}`, browserTest, async () => {
    const page = await h.open()
    await page.route('**/v1/pulse.js', (route) => route.fulfill({ body: '<p>Please sign in' }))
    await init(page, { sessionEndpoint: endpoint })
    await require(page)
    assert.deepEqual(await outcome(page), { state: 'unavailable', sessionId: null, reason })
  })

for (const [option, cookies] of [
  ['include', 'login=1'],
  [undefined, undefined],
] as const)
  test(
    `sends ${cookies ? 'the' : 'no'} cookies to an endpoint of another origin with the option ${option}`,
    browserTest,
    async () => {
      const page = await h.open()
      // Another port is another origin with the same cookies. The route responds; nothing listens.
      const backend = 'http://localhost:48443/'
      const { origin } = new URL(page.url())
      await page.context().addCookies([{ name: 'login', value: '1', url: backend }])
      let sent: string | undefined
      await page.route(`${backend}**`, async (route) => {
        const headers = {
          'Access-Control-Allow-Origin': origin,
          'Access-Control-Allow-Credentials': 'true',
          'Access-Control-Allow-Headers': 'content-type',
        }
        if (route.request().method() === 'OPTIONS') return route.fulfill({ status: 204, headers })
        sent = (await route.request().allHeaders())['cookie']
        const session = h.worker.create(PURPOSE)
        return route.fulfill({ headers, json: session.view() })
      })
      await init(page, {
        sessionEndpoint: `${backend}bond-session`,
        sessionEndpointCredentials: option,
      })
      await require(page)
      await page.locator('.qr').waitFor()
      assert.equal(sent, cookies)
    },
  )

test(
  'rejects an endpoint that returns the completion secret or a session for another purpose',
  browserTest,
  async () => {
    const page = await h.open()
    await init(page)
    for (const [spoil, reason] of [
      [{ completion_secret: `bcs_${'s'.repeat(43)}` }, 'completion_secret_exposed'],
      [{ action: 'approve_wire' }, 'session_mismatch'],
    ] as const) {
      await page.route('**/bond-session', (route) =>
        route.fulfill({ json: { ...h.worker.create().view(), ...spoil } }),
      )
      await require(page)
      assert.deepEqual(await outcome(page), { state: 'unavailable', sessionId: null, reason })
    }
  },
)
