import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { PhoneError, type WebSocketConstructor, type WebSocketLike } from '../src/index.ts'
import { openChannel } from '../src/session/channel.ts'
import { nodeWebSocket } from '../../simulator/src/index.ts'
import { blockedSocket } from './blocked-socket.ts'
import { jumpingClock, movedClock } from './clocks.ts'
import { harness, settle } from './harness.ts'

/** A socket in the test's hands. */
function fakeSockets() {
  const opened: {
    url: string
    protocols: string[]
    emit(type: string, data?: unknown): void
    closed: boolean
  }[] = []
  class FakeSocket implements WebSocketLike {
    readonly #listeners: [string, (event: { data?: unknown }) => void][] = []
    readonly #record: (typeof opened)[number]
    constructor(url: string, protocols: string[]) {
      const emit = (type: string, data?: unknown) => {
        for (const [wanted, listener] of this.#listeners) if (wanted === type) listener({ data })
      }
      this.#record = { url, protocols, emit, closed: false }
      opened.push(this.#record)
    }
    addEventListener(type: string, listener: (event: { data?: unknown }) => void) {
      this.#listeners.push([type, listener])
    }
    close() {
      this.#record.closed = true
    }
  }
  return { opened, WebSocket: FakeSocket as WebSocketConstructor }
}

const frame = (session_id: string, seq: number) =>
  JSON.stringify({ v: 1, seq, type: 'state', session_id, state: 'completed' })
const polls = (service: ReturnType<typeof harness>['service']) =>
  service.requests.filter(({ method }) => method === 'GET').map(({ path }) => path)

test('reads the session when the channel reports the completion', async () => {
  const { opened, WebSocket } = fakeSockets()
  const { service, phone, strong } = harness({ clock: movedClock(), WebSocket })
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const ended = phone.waitForEnd(bonded)
  await settle()
  const [socket] = opened
  assert.equal(socket?.url, `wss://bond.example/sessions/${bonded.session.id}`)
  assert.deepEqual(socket?.protocols, ['bonded.v1', `watch.${bonded.session.watch_token}`])
  socket?.emit('message', frame(bonded.session.id, bonded.session.seq))
  socket?.emit('message', 'not json')
  socket?.emit('message', frame('sess_another', 99))
  await settle()
  assert.deepEqual(polls(service), [])
  service.change({ state: 'completed' })
  socket?.emit('message', frame(bonded.session.id, bonded.session.seq + 1))
  assert.equal((await ended).session.state, 'completed')
  assert.deepEqual(polls(service), [
    `/api/v1/sessions/${bonded.session.id}?nonce=${bonded.claimed_nonce}`,
  ])
  assert.equal(socket?.closed, true)
})

test('reports the changes before the end, and none after a cancellation', async () => {
  const { opened, WebSocket } = fakeSockets()
  const { service, phone, strong } = harness({ clock: movedClock(), WebSocket })
  service.require = ['browser']
  const waiting = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const states: string[] = []
  const stop = new AbortController()
  const ended = phone.waitForEnd(waiting, {
    onChange: ({ session }) => void states.push(session.state),
    signal: stop.signal,
  })
  const cancelled = assert.rejects(ended, { code: 'cancelled' })
  const report = async (seq: number) => {
    opened[0]?.emit('message', frame(waiting.session.id, seq))
    await settle()
  }
  await settle()
  await report(waiting.session.seq)
  assert.deepEqual(states, [])
  service.change({ state: 'bonded', step_up: null })
  await report(waiting.session.seq + 1)
  assert.deepEqual(states, ['bonded'])
  stop.abort()
  service.change({ state: 'completed' })
  await report(waiting.session.seq + 2)
  await cancelled
  assert.deepEqual(states, ['bonded'])
})

test('reads the session after half a minute of silence on the channel', async () => {
  const { opened, WebSocket } = fakeSockets()
  const clock = movedClock()
  const { service, phone, strong } = harness({ clock, WebSocket })
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const ended = phone.waitForEnd(bonded)
  await settle()
  opened[0]?.emit('open')
  await settle()
  service.change({ state: 'completed' })
  clock.advance(30_000)
  assert.equal((await ended).session.state, 'completed')
  assert.equal(clock.scheduled, 0)
})

test('replaces a closed channel with long polls', async () => {
  const { opened, WebSocket } = fakeSockets()
  const { service, phone, strong } = harness({ clock: movedClock(), WebSocket })
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const ended = phone.waitForEnd(bonded)
  await settle()
  opened[0]?.emit('close')
  await settle()
  assert.deepEqual(polls(service), [
    `/api/v1/sessions/${bonded.session.id}?nonce=${bonded.claimed_nonce}&wait_ms=25000&after=${bonded.session.seq}`,
  ])
  service.change({ state: 'completed' })
  assert.equal((await ended).session.state, 'completed')
})

test('the phone polls with its claimed nonce after a step-up', async () => {
  const { service, phone, weak, strong } = harness()
  service.require = ['local_auth']
  const claimed = await phone.claim(service.payload)
  const bonded = await phone.approve(claimed, {
    gather: ({ attempts_left }) => (attempts_left === undefined ? weak() : strong()),
  })
  service.change({ state: 'completed' })
  assert.equal((await phone.waitForEnd(bonded)).session.state, 'completed')
  assert.ok(polls(service).every((path) => path.includes(`nonce=${claimed.claimed_nonce}`)))
})

test('polls on a platform whose WebSocket throws', async () => {
  const { service, phone, strong } = harness({ clock: jumpingClock(), WebSocket: blockedSocket })
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  service.change({ state: 'expired' })
  assert.equal((await phone.waitForEnd(bonded)).session.state, 'expired')
})

test('survives a network outage within the session’s lifetime', async () => {
  const { service, phone, strong } = harness()
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  service.fail(bonded.session.id, ...Array.from({ length: 9 }, () => 'unsent' as const))
  service.change({ state: 'completed' })
  assert.equal((await phone.waitForEnd(bonded)).session.state, 'completed')
})

test('waits at least as long as a rate-limited poll requests', async () => {
  const { service, phone, strong, clock } = harness()
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const begin = clock.waits.length
  service.fail(
    bonded.session.id,
    { status: 429, reason: 'rate_limited', retry_after_s: 40 },
    { status: 429, reason: 'rate_limited', retry_after_s: 5 },
  )
  service.change({ state: 'completed' })
  assert.equal((await phone.waitForEnd(bonded)).session.state, 'completed')
  const [first = 0, second = 0, ...further] = clock.waits.slice(begin)
  assert.ok(first >= 40_000 && first <= 60_000, `${first} ms`)
  assert.ok(second >= 5_000 && second <= 7_500, `${second} ms`)
  assert.deepEqual(further, [])
})

test('polls once more at the session’s end when the service requests a longer wait', async () => {
  const { service, phone, strong, clock } = harness()
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const begin = clock.waits.length
  service.fail(bonded.session.id, { status: 429, reason: 'rate_limited', retry_after_s: 86_400 })
  service.change({ state: 'expired' })
  assert.equal((await phone.waitForEnd(bonded)).session.state, 'expired')
  const [waitedMs = 0] = clock.waits.slice(begin)
  assert.ok(waitedMs > 60_000 && waitedMs <= 300_000, `${waitedMs} ms`)
})

test('throws unreachable when an outage lasts beyond the session’s lifetime', async () => {
  const { service, phone, strong } = harness()
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  service.fail(bonded.session.id, ...Array.from({ length: 999 }, () => 'unsent' as const))
  await assert.rejects(
    phone.waitForEnd(bonded),
    (error) => error instanceof PhoneError && error.code === 'unreachable',
  )
})

test('stops waiting when its signal is aborted, on the channel and in a poll', async () => {
  for (const sockets of [fakeSockets(), undefined]) {
    const { service, phone, strong } = harness({
      clock: movedClock(),
      ...(sockets && { WebSocket: sockets.WebSocket }),
    })
    const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
    const abort = new AbortController()
    const ended = phone.waitForEnd(bonded, { signal: abort.signal })
    await settle()
    abort.abort()
    service.release()
    await assert.rejects(
      ended,
      (error) => error instanceof PhoneError && error.code === 'cancelled',
    )
    assert.ok(sockets === undefined || sockets.opened[0]?.closed)
  }
})

test('Node’s WebSocket offers both subprotocols to a real server and sends no Origin', async () => {
  const http = createServer()
  const server = new WebSocketServer({ server: http, handleProtocols: () => 'bonded.v1' })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const connected = once(server, 'connection')
  const channel = openChannel(nodeWebSocket, {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    session_id: 'sess_1',
    watch_token: 'bwt_1',
    clock: movedClock(),
  })
  const [socket, request] = (await connected) as [
    import('ws').WebSocket,
    import('node:http').IncomingMessage,
  ]
  assert.equal(request.url, '/sessions/sess_1')
  assert.match(request.headers['sec-websocket-protocol'] ?? '', /^bonded\.v1, ?watch\.bwt_1$/)
  assert.equal(request.headers.origin, undefined)
  socket.send(frame('sess_1', 2))
  assert.equal(await channel.after(1), true)
  socket.close(1012)
  assert.equal(await channel.after(2), false)
  channel.close()
  server.close()
  http.close()
})
