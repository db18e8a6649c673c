import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { type ChannelOptions, openChannel } from '../../../../tests/harness/channel.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import { brief } from './brief.ts'

const h = await harness({ workflows: [{ name: 'w', actions: ['a'], challenge_ttl_seconds: 30 }] })
after(() => h[Symbol.asyncDispose]())

function watch(session: { id: string; watch_token: string }, options: ChannelOptions = {}) {
  return openChannel(h.running.port, session, options)
}
const ofBrowser = { key: h.shop.publishable }

test('sends hello, scanned, evaluating, bonded and completed in order of seq, then closes with 1000', async () => {
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

test('sends each new challenge while the session is pending, and none afterwards', async () => {
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

test('sends the expiry when it happens, without waiting for maintenance', async () => {
  const session = await h.create({})
  const channel = watch(session)
  await channel.next()
  // Advances in steps with calls between them, so that the client can respond to pings.
  for (let elapsedMs = 0; elapsedMs < 300_000; elapsedMs += 20_000) {
    h.clock.advance(20_000)
    await h.get(session)
  }
  let frame = await channel.next()
  while (frame.type === 'challenge') frame = await channel.next()
  assert.deepEqual([frame.type, frame.state, frame.expires_in_ms], ['state', 'expired', 0])
  assert.equal(await channel.closed, 1000)
})

test('sends a user’s decline reason to a browser', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session)
  await channel.next()
  await h.decline(phone, session, 'user_unexpected')
  const frame = await channel.next()
  assert.deepEqual(frame.data, { ended_reason: 'user_unexpected', outcome: null })
})

test('sends that a session was killed, but not by whom', async () => {
  const session = await h.create({})
  const channel = watch(session)
  await channel.next()
  await h.kill(session)
  assert.deepEqual((await channel.next()).data, { ended_reason: 'killed', outcome: null })
})

test('sends missed events and the current challenge to a client that reconnects with after.<seq>', async () => {
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

test('sends missed events with their original state, in order of seq', async () => {
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

test('sends an event that happens while the channel opens', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const { store } = h.service
  const write = store.write.bind(store)
  // The service stores the first Origin while the channel opens. The phone claims right after that
  // write, before the channel is open.
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

/** Writes a scan as another process would, without an notification in this process. */
function recordScanInOtherProcess({ id }: { id: string }): void {
  using database = new DatabaseSync(h.databaseFile)
  database.exec(`update session set seq = 2, hint = 'scanned' where id = '${id}'`)
  database.exec(`insert into session_event (session_key, seq, at, kind, state, hint)
    select session_key, seq, ${h.clock.now()}, 'scanned', state, hint from session where id = '${id}'`)
}

test('sends an event of another process before the next event of this process', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session)
  await channel.next()
  recordScanInOtherProcess(session)
  await h.claim(phone, session)
  assert.deepEqual(
    [brief(await channel.next()), brief(await channel.next())].map(([, seq]) => seq),
    [2, 3],
  )
  channel.socket.close()
})

test('sends each event once to each of two channels at different positions', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const early = watch(session)
  await early.next()
  recordScanInOtherProcess(session)
  // The next write detects the change of the other process.
  await h.create({})
  const late = watch(session)
  assert.deepEqual((await late.next()).seq, 2)
  assert.deepEqual((await early.next()).seq, 2)
  await h.claim(phone, session)
  assert.deepEqual([(await early.next()).seq, (await late.next()).seq], [3, 3])
  early.socket.close()
  late.socket.close()
})

test('sends a heartbeat frame with the current state every 3 s, until the session has ended', async () => {
  const session = await h.create({})
  const channel = watch(session, { ...ofBrowser, heartbeats: true })
  const hello = await channel.next()
  assert.equal(hello.type === 'hello' && hello.data.heartbeat_ms, 3_000)
  h.clock.advance(3_000)
  const beat = await channel.next()
  assert.deepEqual(brief(beat), ['heartbeat', 1, 'pending', 'waiting_for_scan'])
  assert.deepEqual([beat.data, beat.expires_in_ms], [{}, 297_000])
  h.clock.advance(3_000)
  assert.equal((await channel.next()).type, 'heartbeat')
  await h.kill(session)
  assert.deepEqual(brief(await channel.next()), ['state', 2, 'killed', null])
  assert.equal(await channel.closed, 1000)
})
