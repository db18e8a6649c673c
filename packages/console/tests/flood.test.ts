import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pipelineUnread, rawClient, rawRequest } from '../../../tests/harness/raw-http.ts'
import { Attempts } from '../src/attempts.ts'
import { consoleHarness, MINUTE } from './harness.ts'
import { send } from './http-client.ts'
import { lyingProvider } from './lying-provider.ts'
import { setup } from './setup.ts'

test('destroys a connection that pipelines requests and reads nothing, and answers others', {
  timeout: 20_000,
}, async (t) => {
  const { port, visitor } = await setup(t)
  const request = rawRequest('GET /sign-out', { Host: `localhost:${port}` })
  await pipelineUnread(port, { request, signal: t.signal })
  assert.equal((await visitor().step('/')).status, 303)
})

test('answers others while 40 forms arrive, and logs none of those that end early', async (t) => {
  const { origin, port, lines, running, visitor } = await setup(t)
  const form = rawRequest('POST /sign-out', {
    Host: `localhost:${port}`,
    Origin: origin,
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': 10,
    Expect: '100-continue',
  })
  const clients = await Promise.all(Array.from({ length: 40 }, () => rawClient(port)))
  try {
    for (const client of clients) client.send(`${form}t`)
    // The console has begun to read each of them.
    await Promise.all(clients.map(({ until }) => until('100 Continue')))
    assert.equal((await visitor().step('/')).status, 303)
  } finally {
    for (const { socket } of clients) socket.destroy()
  }
  await running[Symbol.asyncDispose]()
  await setImmediate()
  assert.deepEqual(lines, [])
})

test('stops beside connections that have sent nothing, or half of a request', {
  timeout: 20_000,
}, async (t) => {
  const { origin, port, running } = await setup(t)
  // A browser opens a connection ahead of need, and leaves it open.
  using silent = await rawClient(port)
  using half = await rawClient(port)
  half.send('GET / HTTP/1.1\r\nHost: x\r\n')
  assert.equal((await fetch(`${origin}/health/alive`)).status, 200)
  await running[Symbol.asyncDispose]()
  assert.deepEqual(await Promise.all([silent.closed, half.closed]), ['', ''])
})

test('closes a connection whose headers do not arrive, soon after their time', {
  // Node’s own check of them is every 30 seconds.
  timeout: 20_000,
}, async (t) => {
  const { port } = await setup(t, { headersTimeoutMs: 1 })
  using slow = await rawClient(port)
  slow.send('GET / HTTP/1.1\r\nHost: x\r\n')
  assert.match(await slow.closed, /^HTTP\/1\.1 408 /)
})

/** A console whose provider returns no token before it is released. */
async function heldSignIns(t: TestContext) {
  const made: Awaited<ReturnType<typeof lyingProvider>>[] = []
  const c = await consoleHarness(
    t,
    async () => {
      made.push(await lyingProvider())
      return made[0] as (typeof made)[0]
    },
    { trustedProxies: 1 },
  )
  const [{ state }] = made as [(typeof made)[0]]
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let asked = 0
  let onAsked = () => {}
  state.beforeToken = () => {
    asked++
    onAsked()
    return released
  }
  return {
    ...c,
    state,
    release,
    /** How often the console has asked for a token. */
    asked: () => asked,
    /** Resolves when it has asked that often. */
    untilAsked: (times: number) =>
      new Promise<void>((resolve) => {
        onAsked = () => asked >= times && resolve()
        onAsked()
      }),
    /** Begins a sign-in, whose callback comes from this address. */
    begin: async (address: string) => {
      const visitor = c.visitor()
      const begun = await visitor.step('/sign-in')
      const parameters = new URL(String(begun.headers['location'])).searchParams
      const query = new URLSearchParams({ code: 'c', state: parameters.get('state') ?? '' })
      const cookie = [...(visitor.cookies.get(c.origin) ?? [])].map((pair) => pair.join('='))[0]
      return {
        nonce: parameters.get('nonce') ?? '',
        call: () =>
          send(`${c.origin}/callback?${query.toString()}`, {
            headers: { cookie: cookie ?? '', 'x-forwarded-for': address },
          }),
      }
    },
  }
}

test('calls the provider once for an attempt that is sent in a loop, and logs one stranger a minute', async (t) => {
  const { asked, begin, lines, origin, release, state, untilAsked } = await heldSignIns(t)
  const { call, nonce } = await begin('192.0.2.1')
  state.nonce = nonce
  const first = call()
  await untilAsked(1)
  for (let time = 0; time < 12; time++) assert.equal((await call()).status, 403)
  release()
  assert.equal((await first).status, 303)
  assert.equal((await call()).status, 403)
  assert.deepEqual(lines, [])
  for (let time = 0; time < 2; time++)
    assert.equal((await send(`${origin}/callback?code=c&state=s`)).status, 403)
  assert.equal(asked(), 1)
  assert.equal(lines.length, 1)
  assert.match(lines.join(''), /not_begun_here/)
})

test('says that the sign-in is busy to the third callback of an address, and serves others', async (t) => {
  const { begin, release, state, untilAsked } = await heldSignIns(t)
  const [first, second, third, other] = await Promise.all(
    ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => begin(address)),
  )
  assert.ok(first && second && third && other)
  const waiting = [first.call(), second.call()]
  await untilAsked(2)
  const busy = await third.call()
  assert.equal(busy.status, 503)
  assert.match(busy.text, /The sign-in is busy/)
  waiting.push(other.call())
  await untilAsked(3)
  state.nonce = third.nonce
  release()
  // Their tokens have the nonce of the third one.
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 403)
  assert.equal((await third.call()).status, 303)
})

test('logs what anyone can cause once a minute, with how often it was', async (t) => {
  const { advance, lines, state, visitor } = await heldSignIns(t)
  state.isDown = true
  for (let time = 0; time < 5; time++) assert.equal((await visitor().step('/sign-in')).status, 503)
  assert.equal(lines.length, 1)
  advance(MINUTE)
  await visitor().step('/sign-in')
  assert.equal(lines.length, 2)
  assert.match(lines[1] ?? '', /"omitted":4/)
})

test('an attempt is used once, and the oldest of more than 1,000 is deleted', () => {
  const attempts = new Attempts(() => 0)
  for (let index = 0; index < 1_000; index++) assert.ok(attempts.use(String(index)))
  assert.ok(!attempts.use('0'))
  assert.ok(attempts.use('1000'))
  assert.ok(!attempts.use('1'))
  assert.ok(attempts.use('0'))
})
