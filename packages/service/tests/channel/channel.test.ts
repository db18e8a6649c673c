import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import type { ServerFrame } from '@bonded/contract'
import { noMeter } from '../../src/ports/meter.ts'
import { Canary } from '../harness/canary.ts'
import { type ChannelOptions, openChannel } from '../harness/channel.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../harness/harness.ts'

const h = await harness({ workflows: [{ name: 'w', actions: ['a'], challenge_ttl_seconds: 30 }] })
after(() => h[Symbol.asyncDispose]())

function watch(
  session: { id: string; watch_token: string },
  { port = h.running.port, ...options }: ChannelOptions & { port?: number } = {},
) {
  return openChannel(port, session, options)
}
const ofBrowser = { key: h.shop.publishable }

test('a watcher hears hello, scanned, evaluating, bonded and completed, in order of seq, and then 1000', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session, ofBrowser)
  const hello = await channel.next()
  assert.equal(channel.socket.protocol, 'bonded.v1')
  assert.deepEqual(
    [hello.type, hello.seq, hello.state, hello.hint],
    ['hello', 1, 'pending', 'waiting_for_scan'],
  )
  await h.claim(phone, session)
  assert.deepEqual(brief(await channel.next()), ['hint', 2, 'pending', 'scanned'])
  await h.attest(phone, await h.view(phone, session))
  assert.deepEqual(brief(await channel.next()), ['hint', 3, 'pending', 'evaluating'])
  assert.deepEqual(brief(await channel.next()), ['state', 4, 'bonded', null])
  await h.complete(session)
  assert.deepEqual(brief(await channel.next()), ['state', 5, 'completed', null])
  assert.equal(await channel.closed, 1000)
})

test('no frame carries a verification, a subject, a device or a secret', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session)
  const frames = [await channel.next()]
  await h.claim(phone, session)
  await h.attest(phone, await h.view(phone, session))
  for (let count = 0; count < 3; count++) frames.push(await channel.next())
  const text = JSON.stringify(frames)
  for (const secret of [
    session.completion_secret,
    session.watch_token,
    phone.device_id,
    phone.subject_id,
    phone.device_token,
    (await h.get(session)).body.subject_ref,
  ]) {
    assert.ok(secret && !text.includes(secret))
  }
  assert.doesNotMatch(text, /"verification":\{|confidence|subject_ref/)
  channel.socket.close()
})

test('a new code is sent when it comes on show, while the session is pending and not after', async () => {
  const session = await h.create({})
  const channel = watch(session)
  const hello = await channel.next()
  h.clock.advance(30_000)
  const rotated = await channel.next()
  assert.equal(rotated.type, 'challenge')
  assert.equal(rotated.seq, hello.seq)
  const { data } = rotated
  assert.equal(data.nonce, (await h.get(session)).body.nonce)
  assert.deepEqual([data.challenge_rotates_in_ms, data.challenge_expires_in_ms], [30_000, 60_000])
  await h.kill(session)
  assert.deepEqual(brief(await channel.next()), ['state', 2, 'killed', null])
  assert.equal(await channel.closed, 1000)
})

/** A scan that another process has written, of which nobody here was told. */
function scannedElsewhere({ id }: { id: string }): void {
  using another = new DatabaseSync(h.databaseFile)
  another.exec(`update session set seq = 2, hint = 'scanned' where id = '${id}'`)
  another.exec(`insert into session_event (session_id, session_began_at, seq, at, kind, state, hint)
    select id, created_at, seq, ${h.clock.now()}, 'scanned', state, hint from session where id = '${id}'`)
}

test('an event of another process is told before the next one of this process, and not left out', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session)
  await channel.next()
  scannedElsewhere(session)
  await h.claim(phone, session)
  assert.deepEqual(
    [brief(await channel.next()), brief(await channel.next())].map(([, seq]) => seq),
    [2, 3],
  )
  channel.socket.close()
})

test('of two channels that are not equally far each hears what it has not heard, once', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const early = watch(session)
  await early.next()
  scannedElsewhere(session)
  // A write notices that another process has written.
  await h.create({})
  const late = watch(session)
  assert.deepEqual((await late.next()).seq, 2)
  assert.deepEqual((await early.next()).seq, 2)
  await h.claim(phone, session)
  assert.deepEqual([(await early.next()).seq, (await late.next()).seq], [3, 3])
  early.socket.close()
  late.socket.close()
})

test('the end of its time is told when it comes, without waiting for the sweeper', async () => {
  const session = await h.create({})
  const channel = watch(session)
  await channel.next()
  // In steps, with a call between them: a client that has no chance to answer pings would be cut off.
  for (let passed = 0; passed < 300_000; passed += 20_000) {
    h.clock.advance(20_000)
    await h.get(session)
  }
  let frame = await channel.next()
  while (frame.type === 'challenge') frame = await channel.next()
  assert.deepEqual([frame.type, frame.state, frame.expires_in_ms], ['state', 'expired', 0])
  assert.equal(await channel.closed, 1000)
})

test('a browser is told that the person said no, and not which proof failed', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session)
  await channel.next()
  await h.decline(phone, session, 'user_unexpected')
  const frame = await channel.next()
  assert.deepEqual(frame.data, { ended_reason: 'user_unexpected' })
})

test('who comes back with after.<seq> hears what it missed, and the code on show', async () => {
  const session = await h.create({})
  const phone = await h.register()
  await h.claim(phone, session)
  const back = watch(session, {
    after: 1,
  })
  assert.deepEqual(brief(await back.next()), ['hint', 2, 'pending', 'scanned'])
  assert.equal((await back.next()).type, 'challenge')
  await h.attest(phone, await h.view(phone, session))
  assert.equal((await back.next()).seq, 3)
  const beyond = watch(session, {
    after: 99,
  })
  assert.equal((await beyond.next()).type, 'hello')
  for (const channel of [back, beyond]) channel.socket.close()
})

test('who comes back late hears each event as it was when it happened, in order of seq', async () => {
  const session = await h.create({})
  const phone = await h.register()
  await h.claim(phone, session)
  await h.attest(phone, await h.view(phone, session))
  const back = watch(session, {
    after: 1,
  })
  assert.deepEqual(
    [brief(await back.next()), brief(await back.next()), brief(await back.next())],
    [
      ['hint', 2, 'pending', 'scanned'],
      ['hint', 3, 'pending', 'evaluating'],
      ['state', 4, 'bonded', null],
    ],
  )
  back.socket.close()
})

test('a browser is told that a session was killed, and not by whom', async () => {
  const session = await h.create({})
  const channel = watch(session)
  await channel.next()
  await h.kill(session)
  assert.deepEqual((await channel.next()).data, { ended_reason: 'killed' })
})

test('admits the service’s own page like a phone, and does not show its origin as the requester', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session, { origin: PUBLIC_ORIGIN })
  assert.equal((await channel.next()).type, 'hello')
  assert.equal((await h.view(phone, session)).requesting_origin, null)
  channel.socket.close()
})

test('a channel that opens on a bonded session is told the state, and not what was proved', async () => {
  const { session } = await h.reach('bonded', {})
  const channel = watch(session)
  const hello = await channel.next()
  assert.ok(hello.type === 'hello')
  assert.deepEqual([hello.state, hello.data.verification], ['bonded', null])
  channel.socket.close()
})

test('an hour after its end a session has no channel any more', async () => {
  const { session } = await h.reach('killed', {})
  h.clock.advance(60 * 60_000)
  assert.equal((await watch(session).refused).status, 404)
})

test('a channel that opens on an ended session says so and closes', async () => {
  const { session } = await h.reach('killed', {})
  const channel = watch(session)
  assert.deepEqual(brief(await channel.next()).slice(0, 3), ['hello', 2, 'killed'])
  assert.equal(await channel.closed, 1000)
})

test('refusals before the upgrade have the error shape', async () => {
  const session = await h.create({})
  const another = await h.create({})
  const cases: [object, number, string][] = [
    [{ protocols: ['bonded.v1'] }, 401, 'credential_missing'],
    [{ protocols: [`watch.${session.watch_token}`] }, 401, 'credential_missing'],
    [{ protocols: ['bonded.v1', 'watch.bwt_wrong'] }, 404, 'session_not_found'],
    [{ protocols: ['bonded.v1', `watch.${another.watch_token}`] }, 404, 'session_not_found'],
    [{ ...ofBrowser, origin: 'https://evil.example' }, 403, 'origin_not_allowed'],
    [{ ...ofBrowser, origin: 'null' }, 403, 'origin_not_allowed'],
  ]
  for (const [options, status, reason] of cases) {
    const refused = await watch(session, options).refused
    assert.deepEqual([refused.status, refused.body.error.reason], [status, reason])
  }
  const unknown = await watch({ id: `sess_${'0'.repeat(22)}`, watch_token: session.watch_token })
    .refused
  assert.equal(unknown.status, 404)
  const plain = await h.call('GET', `/sessions/${session.id}`)
  assert.deepEqual([plain.status, plain.body.error.reason], [404, 'unknown_endpoint'])
})

test('a client that speaks is closed with 4400', async () => {
  const session = await h.create({})
  for (const message of ['hello', Buffer.of(1, 2, 3)]) {
    const channel = watch(session)
    await channel.next()
    channel.socket.send(message)
    assert.equal(await channel.closed, 4400)
  }
})

test('a ninth channel of a session closes the oldest with 4429', async () => {
  const session = await h.create({})
  const channels = []
  for (let count = 0; count < 9; count++) {
    const channel = watch(session)
    await channel.next()
    channels.push(channel)
  }
  assert.equal(await channels[0]?.closed, 4429)
  const phone = await h.register()
  await h.claim(phone, session)
  for (const channel of channels.slice(1)) {
    assert.equal((await channel.next()).hint, 'scanned')
    channel.socket.close()
  }
})

test('a channel that was superseded and closes late takes nothing along that came after it', async () => {
  let openChannels = () => 0
  await using own = await harness({
    meter: { ...noMeter, watch: (watched) => (openChannels = watched.openChannels) },
  })
  const { port } = own.running
  const until = async (count: number) => {
    while (openChannels() !== count) await new Promise((resolve) => setImmediate(resolve))
  }
  const session = await own.create()
  const open = async () => {
    const channel = watch(session, { port })
    await channel.next()
    return channel
  }
  // The oldest hears that it is superseded, and does not answer.
  const deaf = connect(port, '127.0.0.1')
  deaf.write(
    upgradeOf(session, {
      'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
      'Sec-WebSocket-Version': '13',
    }),
  )
  await once(deaf, 'data')
  const others = []
  for (let count = 0; count < 8; count++) others.push(await open())
  for (const { socket } of others) socket.close()
  await until(1)
  const first = await open()
  deaf.destroy()
  await until(1)
  const later = []
  for (let count = 0; count < 8; count++) later.push(await open())
  await own.kill(session)
  assert.equal(await first.closed, 4429)
  for (const { closed } of later) assert.equal(await closed, 1000)
})

test('an upgrade that is no WebSocket is refused in the error shape, and told as refused', async () => {
  const session = await h.create({})
  for (const headers of [
    { 'Sec-WebSocket-Version': '13' },
    { 'Sec-WebSocket-Version': '7', 'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64') },
  ]) {
    const told = h.lines.length
    const socket = connect(h.running.port, '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.write(upgradeOf(session, headers))
    await once(socket, 'close')
    const requestId = /^X-Request-Id: (req_\w{22})\r$/m.exec(answer)?.[1]
    assert.match(
      answer,
      /^HTTP\/1\.1 400 .*^Content-Type: application\/json; charset=utf-8\r$.*^Sec-WebSocket-Version: 13\r$/ms,
    )
    const { error } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.deepEqual([error.reason, error.requestId], ['malformed_request', requestId])
    const lines = h.lines.slice(told).map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ requestId: id, status, reason }) => [id, status, reason]),
      [[requestId, 400, 'malformed_request']],
    )
  }
})

test('a client that answers no ping is cut off after two', async () => {
  const session = await h.create({})
  const channel = watch(session)
  await channel.next()
  channel.socket.pong = () => {}
  let pings = 0
  const pinged = () =>
    new Promise<void>((resolve) => channel.socket.once('ping', () => resolve(void pings++)))
  for (let count = 0; count < 2; count++) {
    const ping = pinged()
    h.clock.advance(25_000)
    await ping
  }
  h.clock.advance(25_000)
  assert.equal(await channel.closed, 1006)
  assert.equal(pings, 2)
})

test('a poll waits for the next change, or for its time', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const poll = (after: number, waitMs = 20_000) =>
    h.api('GET', `/sessions/${session.id}?wait_ms=${waitMs}&after=${after}`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  const waiting = poll(1)
  await h.claim(phone, session)
  assert.deepEqual([(await waiting).body.seq, (await waiting).body.hint], [2, 'scanned'])
  assert.equal((await poll(1)).body.seq, 2, 'what was missed is answered at once')
})

test('no canary of this file stands in a frame it should not', () => {
  // The harness reads the log lines; this keeps the reader itself honest.
  const canary = new Canary()
  canary.learn({ completion_secret: 'bcs_0123456789012345678901' })
  assert.throws(() => canary.search(['… bcs_0123456789012345678901 …']))
})

function upgradeOf(
  session: { id: string; watch_token: string },
  headers: Record<string, string>,
): string {
  const given = {
    Host: 'x',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Protocol': `bonded.v1, watch.${session.watch_token}`,
    ...headers,
  }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET /sessions/${session.id} HTTP/1.1\r\n${lines.join('')}\r\n`
}

function brief(frame: ServerFrame): unknown[] {
  return [frame.type, frame.seq, frame.state, frame.hint]
}

test('what happens while a channel is being opened is not lost', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const { store } = h.service
  const write = store.write.bind(store)
  // The first Origin is written down while the channel opens; right after that, and before it is open, the phone claims.
  store.write = async (unit) => {
    store.write = write
    const written = await store.write(unit)
    await h.claim(phone, session)
    return written
  }
  const channel = watch(session, ofBrowser)
  const hello = await channel.next()
  assert.equal(hello.seq, 1)
  assert.deepEqual(brief(await channel.next()), ['hint', 2, 'pending', 'scanned'])
  channel.socket.close()
})
