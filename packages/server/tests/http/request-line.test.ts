import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { makeId, type SessionId, Secret } from '@bonded/contract'
import pino from 'pino'
import { WebSocket } from 'ws'
import { requestLogger } from '../../src/http/request-line.ts'
import { LOG_OPTIONS } from '../../src/log.ts'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const freshId = () => makeId('req', h.service.random.id())

/** Returns the log lines that an action has written. */
async function linesOf(work: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const before = h.lines.length
  await work()
  return h.lines.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('logs one line for each request: id, route, status, duration, caller, tenant and session', async () => {
  const session = await h.create()
  const [line, ...more] = await linesOf(() => h.get(session))
  assert.deepEqual(more, [])
  const { requestId, ms, time: _time, pid: _pid, hostname: _host, ...members } = line ?? {}
  assert.match(String(requestId), /^req_[0-9A-Za-z]{22}$/)
  assert.ok(typeof ms === 'number' && ms >= 0)
  assert.deepEqual(members, {
    level: 'info',
    method: 'GET',
    route: '/api/v1/sessions/:session_id',
    status: 200,
    caller: 'backend',
    tenantId: h.shop.tenant.id,
    sessionId: session.id,
    msg: 'request',
  })
})

test('logs the new session of a create, the tenant of a phone’s session, and the reason of a rejection', async () => {
  const phone = await h.register()
  const [created] = await linesOf(() => h.create())
  assert.match(String(created?.sessionId), /^sess_/)
  const session = await h.create()
  const [claimed] = await linesOf(() => h.claim(phone, session))
  assert.deepEqual([claimed?.tenantId, claimed?.sessionId], [h.shop.tenant.id, session.id])
  const lines = await linesOf(() => h.attest(phone, { ...session, nonce: 'x'.repeat(43) } as never))
  const rejected = lines.at(-1)
  assert.deepEqual(
    [rejected?.status, rejected?.reason, rejected?.sessionId],
    [400, 'nonce_mismatch', session.id],
  )
})

test('logs no path, query, malformed id, method or header that a caller chose', async () => {
  const junk = 'Canary7f3a'
  const lines = await linesOf(async () => {
    await h.call('GET', `/${junk}?nonce=${junk}`)
    await h.api('GET', `/sessions/${junk}?wait_ms=${junk}`, { token: h.shop.server })
    await h.api('GET', `/devices/${junk}`, { token: junk })
    await h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: junk, [junk]: 1 } })
    await h.api('POST', '/sessions', { token: h.shop.server, raw: `{"${junk}":` })
    await h.api('GET', '/openapi.json', {
      headers: {
        'x-request-id': junk,
        traceparent: junk,
        'user-agent': junk,
        origin: `https://${junk}`,
      },
    })
  })
  assert.equal(lines.length, 6)
  assert.ok(!JSON.stringify(lines).includes(junk), JSON.stringify(lines))
})

test('logs a request with an unsupported expectation', async () => {
  const lines = await linesOf(() => h.call('GET', '/version', { headers: { expect: 'a-miracle' } }))
  assert.deepEqual(
    lines.map(({ route, status, reason }) => [route, status, reason]),
    [['broken', 400, 'expectation_unsupported']],
  )
})

test('logs one line for each opened and each rejected channel', async () => {
  const session = await h.create()
  const url = `ws://127.0.0.1:${h.running.port}/sessions/${session.id}`
  const lines = await linesOf(async () => {
    const open = new WebSocket(
      url,
      ['bonded.v1', `watch.${session.watch_token}`, `key.${h.shop.publishable}`],
      { origin: SHOP_ORIGIN },
    )
    await new Promise((resolve) => open.once('message', resolve))
    open.terminate()
    const rejected = new WebSocket(url, ['bonded.v1', 'watch.wrong'])
    await new Promise((resolve) => rejected.once('error', resolve))
  })
  assert.deepEqual(
    lines.map(({ route, status, reason, sessionId }) => [route, status, reason, sessionId]),
    [
      ['/sessions/:session_id', 101, undefined, session.id],
      ['/sessions/:session_id', 404, 'session_not_found', undefined],
    ],
  )
})

test('uses a well-formed request id of the caller in the reply, the error, the log and the timeline', async () => {
  const [createId, killId, errorId] = [freshId(), freshId(), freshId()]
  const headers = (id: string) => ({ 'x-request-id': id })
  let session = { id: '' }
  const [line] = await linesOf(async () => {
    const created = await h.api('POST', '/sessions', {
      token: h.shop.server,
      headers: headers(createId),
      body: { workflow: 'credit_application' },
    })
    assert.equal(created.headers['x-request-id'], createId)
    session = created.body
  })
  assert.equal(line?.requestId, createId)
  await h.api('DELETE', `/sessions/${session.id}`, {
    token: h.shop.server,
    headers: headers(killId),
  })
  const timeline = await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  assert.deepEqual(
    timeline.body.entries.map(({ kind, request_id }: { kind: string; request_id: string }) => [
      kind,
      request_id,
    ]),
    [
      ['created', createId],
      ['killed', killId],
    ],
  )
  const rejected = await h.api('GET', `/sessions/${'x'.repeat(9)}`, {
    token: h.shop.server,
    headers: headers(errorId),
  })
  assert.deepEqual(
    [rejected.headers['x-request-id'], rejected.body.error.requestId],
    [errorId, errorId],
  )
})

test('replaces a malformed request id with a new one', async () => {
  for (const given of [
    'req_short',
    `req_${'0'.repeat(23)}`,
    `sess_${'0'.repeat(22)}`,
    `${freshId()}, ${freshId()}`,
    `${freshId()}\t`.trim() + ';',
  ]) {
    const reply = await h.api('GET', '/openapi.json', { headers: { 'x-request-id': given } })
    assert.equal(reply.status, 200)
    assert.match(String(reply.headers['x-request-id']), /^req_[0-9A-Za-z]{22}$/)
    assert.notEqual(reply.headers['x-request-id'], given)
  }
})

test('records the request id of each change and rejection in the timeline, even when changes share a commit', async () => {
  const [one, two, phone] = [await h.create(), await h.create(), await h.register()]
  const ids = [freshId(), freshId()]
  const kill = (session: { id: string }, id = '') =>
    h.api('DELETE', `/sessions/${session.id}`, {
      token: h.shop.server,
      headers: { 'x-request-id': id },
    })
  await Promise.all([kill(one, ids[0]), kill(two, ids[1])])
  h.clock.advance(1)
  const rejected = await h.claim(phone, one)
  const entries = async ({ id }: { id: string }) =>
    h.service.store.read((tables) => tables.sessions.timeline(id as SessionId))
  assert.deepEqual((await entries(one)).map(({ request_id }) => request_id).slice(1), [
    ids[0],
    rejected.headers['x-request-id'],
  ])
  assert.deepEqual((await entries(two)).map(({ request_id }) => request_id).slice(1), [ids[1]])
})

test('records no request id for an expiry', async () => {
  const session = await h.create()
  h.clock.advance(300_000)
  await expireSessions(h.service)
  const timeline = await h.service.store.read((tables) =>
    tables.sessions.timeline(session.id as SessionId),
  )
  assert.deepEqual([timeline.at(-1)?.kind, timeline.at(-1)?.request_id], ['expired', null])
})

test('logs the trace id of a well-formed traceparent, and ignores a malformed one', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const lineOf = async (traceparent: string) =>
    (await linesOf(() => h.call('GET', '/version', { headers: { traceparent } })))[0]
  assert.equal((await lineOf(`00-${trace}-00f067aa0ba902b7-01`))?.traceId, trace)
  for (const broken of [
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    trace,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
  ])
    assert.equal((await lineOf(broken))?.traceId, undefined)
})

test('prints no secret at any depth, in a message, in an error or in a child logger', () => {
  const lines: string[] = []
  const log = pino(
    LOG_OPTIONS,
    new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) }),
  )
  const secret = new Secret('hunter2hunter2')
  const failure = Object.assign(
    new Error(`failed with ${String(secret)}`, {
      cause: Object.assign(new Error('inner'), { secret }),
    }),
    {
      secret,
      list: [secret],
    },
  )
  log.info(
    { secret, nested: { secret, deeper: [{ secret }] }, map: [secret] },
    `a ${String(secret)}`,
  )
  log.info(secret, 'alone')
  log.info('%s %o %j %O', secret, secret, { secret }, [secret])
  log.error({ err: failure }, 'failed')
  log.error(failure)
  log.child({ secret, nested: { secret } }).info('child')
  assert.equal(lines.length, 6)
  assert.ok(!lines.join('').includes('hunter2'), lines.join(''))
  // A secret logged alone has no member to print. Elsewhere it prints as a placeholder.
  assert.equal(lines.filter((line) => line.includes('[secret]')).length, 5)
  assert.ok(!inspect(secret, { showHidden: true, depth: 9 }).includes('hunter2'))
})

test('writes the line of a request to each stream of a multistream by its level', () => {
  const [info, error]: [string[], string[]] = [[], []]
  const log = pino(
    LOG_OPTIONS,
    pino.multistream([
      { level: 'info', stream: { write: (line: string) => info.push(line) } },
      { level: 'error', stream: { write: (line: string) => error.push(line) } },
    ]),
  )
  const request = { requestId: freshId(), method: 'GET', route: '/health/alive', status: 200 }
  requestLogger(log, { meter: noMeter })({ ...request, ms: 1 }, 'alive')
  assert.deepEqual([info.length, error.length], [1, 0])
  assert.equal((JSON.parse(info[0] ?? '') as { msg: string }).msg, 'request')
})
