import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { WebSocket } from 'ws'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'

/** Within this a process manager sees it end, whatever its clients do. */
const ENDS_WITHIN_MS = 20_000
const SESSIONS = 250
const CHANNELS_A_SESSION = 8

test('closes channels with 1012 on SIGTERM and exits with 0 in time, even if a watcher is gone', {
  timeout: 120_000,
}, async () => {
  using m = machine()
  const { server_credential } = m.json(...CREATE_TENANT)
  await using service = await m.serve()
  const headers = {
    authorization: `Bearer ${server_credential}`,
    'content-type': 'application/json',
  }
  const created = await fetch(`${service.origin}/api/v1/sessions`, {
    method: 'POST',
    headers,
    body: '{}',
  })
  const session = (await created.json()) as CreatedSession

  const watcher = new WebSocket(`${service.origin.replace('http', 'ws')}/sessions/${session.id}`, [
    'bonded.v1',
    `watch.${session.watch_token}`,
  ])
  await once(watcher, 'message')
  const closed = once(watcher, 'close') as Promise<[number]>
  const silent = connect(Number(new URL(service.origin).port), '127.0.0.1')
  silent.on('error', () => {})
  silent.write(
    `GET /sessions/${session.id} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Protocol: bonded.v1, watch.${session.watch_token}\r\n\r\n`,
  )
  await once(silent, 'data')
  const poll = fetch(`${service.origin}/api/v1/sessions/${session.id}?wait_ms=25000`, {
    headers,
  }).then(
    ({ status }) => status,
    () => 'cut',
  )

  const stoppedAt = Date.now()
  assert.equal(await service.stop('SIGTERM'), 0)
  assert.ok(Date.now() - stoppedAt < ENDS_WITHIN_MS, `${Date.now() - stoppedAt} ms`)
  assert.equal((await closed)[0], 1012)
  assert.ok([200, 'cut'].includes(await poll))
  silent.destroy()
  assert.equal(
    m.json('session', 'show', session.id).state,
    'pending',
    'an end of the service is no end of a session',
  )
})

/** A raw connection, and the text that it has received. */
function rawConnection(origin: string) {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  let received = ''
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  return { socket, received: () => received }
}

/** Enough of a body to be ahead of the slowest rate that the service accepts. */
const BODY_START = `{${' '.repeat(18_000)}`

/** Sends a create without the last byte of its body. */
function startCreate(socket: Socket, credential: string) {
  socket.write(
    `POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credential}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${BODY_START.length + 1}\r\n\r\n${BODY_START}`,
  )
}

test('drains 2,000 channels and every request in progress, and loses nothing it acknowledged', {
  timeout: 240_000,
}, async () => {
  using m = machine({
    env: {
      // Long enough for a busy machine to send a request while it lasts.
      BONDED_DRAIN_SECONDS: '8',
      BONDED_CONNECTION_LIMITS: 'total=16000,network=16000',
      BONDED_RATE_LIMITS: 'create=600000,public=600000,backend=600000',
    },
  })
  const { server_credential: credential } = m.json(...CREATE_TENANT)
  await using service = await m.serve()
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
  const sessionsUrl = `${service.origin}/api/v1/sessions`
  const create = async () => {
    const response = await fetch(sessionsUrl, { method: 'POST', headers, body: '{}' })
    assert.equal(response.status, 201)
    return { response, session: (await response.json()) as CreatedSession }
  }
  const sessions: CreatedSession[] = []
  for (let index = 0; index < SESSIONS; index++) sessions.push((await create()).session)

  const codes: number[] = []
  const closedFirst = Promise.withResolvers<void>()
  const closedAll = Promise.withResolvers<void>()
  const watch = async ({ id, watch_token }: CreatedSession) => {
    const socket = new WebSocket(`${service.origin.replace('http', 'ws')}/sessions/${id}`, [
      'bonded.v1',
      `watch.${watch_token}`,
    ])
    socket.once('close', (code) => {
      codes.push(code)
      closedFirst.resolve()
      if (codes.length === SESSIONS * CHANNELS_A_SESSION) closedAll.resolve()
    })
    await once(socket, 'message')
  }
  for (const session of sessions)
    await Promise.all(Array.from({ length: CHANNELS_A_SESSION }, () => watch(session)))

  const [watched] = sessions as [CreatedSession]
  const poll = fetch(`${sessionsUrl}/${watched.id}?wait_ms=25000`, { headers })
  const slow = rawConnection(service.origin)
  slow.socket.pause()
  slow.socket.write('GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n')

  const ended = service.stop('SIGTERM')
  const readiness = await until(async () => {
    const response = await fetch(`${service.origin}/health/ready`)
    return response.status === 503 ? response : undefined
  }, 30_000)
  const { error } = (await readiness.json()) as { error: { unready: string[] } }
  assert.deepEqual(error.unready, ['draining'])
  const { response, session: late } = await create()
  assert.equal(response.headers.get('connection'), 'close', 'a proxy leaves this node')

  // Channels close a few at a time, while the service still responds.
  await closedFirst.promise
  const halfSent = rawConnection(service.origin)
  const responded = once(halfSent.socket, 'close')
  startCreate(halfSent.socket, credential)
  assert.ok(codes.length < SESSIONS * CHANNELS_A_SESSION, `${codes.length} closed together`)
  await closedAll.promise
  assert.deepEqual(new Set(codes), new Set([1012]))
  const polled = await poll
  assert.equal(polled.status, 200)
  assert.equal(((await polled.json()) as CreatedSession).state, 'pending')

  // It no longer listens, and still waits for the body that it has begun to read.
  await until(
    () =>
      fetch(service.origin).then(
        () => undefined,
        () => true,
      ),
    30_000,
  )
  halfSent.socket.write('}')
  slow.socket.resume()
  await responded
  assert.match(halfSent.received(), /^HTTP\/1.1 201/)
  const created = JSON.parse(halfSent.received().split('\r\n\r\n')[1] ?? '') as CreatedSession
  assert.equal(await ended, 0)
  const [head = '', document = ''] = slow.received().split('\r\n\r\n')
  assert.match(head, /^HTTP\/1.1 200/)
  assert.ok('paths' in (JSON.parse(document) as object), 'the slow reader got the whole document')

  await using again = await m.serve()
  for (const { id } of [...sessions, late, created]) {
    const found = await fetch(`${again.origin}/api/v1/sessions/${id}`, { headers })
    assert.equal(found.status, 200)
  }
})

test('ends at once on a second SIGTERM, although a request is still arriving', {
  timeout: 120_000,
}, async () => {
  using m = machine()
  const { server_credential: credential } = m.json(...CREATE_TENANT)
  await using service = await m.serve()
  const { socket } = rawConnection(service.origin)
  startCreate(socket, credential)
  // The service has read the head of the first request when it responds to a later one.
  await fetch(`${service.origin}/health/alive`)
  const ended = service.stop('SIGTERM')
  await until(
    () =>
      fetch(service.origin).then(
        () => undefined,
        () => true,
      ),
    30_000,
  )
  assert.equal(service.child.exitCode, null)
  assert.equal(await service.stop('SIGTERM'), 1)
  assert.equal(await ended, 1)
  socket.destroy()
})
