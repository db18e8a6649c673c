import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { Canary } from '../../../../tests/harness/canary.ts'
import { type ChannelOptions, openChannel } from '../../../../tests/harness/channel.ts'
import { harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import { brief } from './brief.ts'
import { upgradeRequest } from './upgrade-request.ts'

const h = await harness({ workflows: [{ name: 'w', actions: ['a'], challenge_ttl_seconds: 30 }] })
after(() => h[Symbol.asyncDispose]())

function watch(session: { id: string; watch_token: string }, options: ChannelOptions = {}) {
  return openChannel(h.running.port, session, options)
}
const ofBrowser = { key: h.shop.publishable }

test('sends no verification, subject, device or secret in any frame', async () => {
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

test('sends the state but no verification when a channel opens on a bonded session', async () => {
  const { session } = await h.reach('bonded', {})
  const channel = watch(session)
  const hello = await channel.next()
  assert.ok(hello.type === 'hello')
  assert.deepEqual([hello.state, hello.data.verification], ['bonded', null])
  channel.socket.close()
})

test('sends hello and closes when a channel opens on an ended session', async () => {
  const { session } = await h.reach('killed', {})
  const channel = watch(session)
  assert.deepEqual(brief(await channel.next()).slice(0, 3), ['hello', 2, 'killed'])
  assert.equal(await channel.closed, 1000)
})

test('rejects a channel an hour after the session’s end', async () => {
  const { session } = await h.reach('killed', {})
  h.clock.advance(60 * 60_000)
  assert.equal((await watch(session).rejected).status, 404)
})

test('admits the service’s own page like a phone, and does not present its origin as the requester', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const channel = watch(session, { origin: PUBLIC_ORIGIN })
  assert.equal((await channel.next()).type, 'hello')
  assert.equal((await h.view(phone, session)).requesting_origin, null)
  channel.socket.close()
})

test('rejects an upgrade in the error shape', async () => {
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
    const rejected = await watch(session, options).rejected
    assert.deepEqual([rejected.status, rejected.body.error.reason], [status, reason])
  }
  const unknown = await watch({ id: `sess_${'0'.repeat(22)}`, watch_token: session.watch_token })
    .rejected
  assert.equal(unknown.status, 404)
  const plain = await h.call('GET', `/sessions/${session.id}`)
  assert.deepEqual([plain.status, plain.body.error.reason], [404, 'unknown_endpoint'])
})

test('the canary search detects a completion secret', () => {
  // The harness searches every log line. This verifies that the search works.
  const canary = new Canary()
  canary.learn({ completion_secret: 'bcs_0123456789012345678901' })
  assert.throws(() => canary.search(['… bcs_0123456789012345678901 …']))
})

test('logs the failure of the service that rejects a channel', async (t) => {
  const session = await h.create({})
  const before = h.lines.length
  t.mock.method(h.service.store, 'read', async () => {
    throw new TypeError('a bug of the test')
  })
  const socket = connect(h.running.port, '127.0.0.1')
  socket.write(upgradeRequest(session, {}))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  assert.match(answer.toString(), /^HTTP\/1\.1 503 [^]*store_unavailable/)
  assert.doesNotMatch(answer.toString(), /a bug of the test/)
  assert.match(h.lines.slice(before).join(''), /a bug of the test.*request failed/)
})
