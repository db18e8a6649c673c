import assert from 'node:assert/strict'
import { get } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { METHODS } from 'node:http'
import { WebSocket } from 'ws'
import { listenForMetrics } from '../../../src/adapters/meter/metrics-listener.ts'
import { prometheusMeter } from '../../../src/adapters/meter/prometheus-meter.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { rawClient } from '../../../../../tests/harness/raw-http.ts'

const meter = prometheusMeter({ version: '9.8.7' })
const h = await harness({ meter })
after(async () => {
  await h[Symbol.asyncDispose]()
  meter[Symbol.dispose]()
})

const LAG = 'bonded_event_loop_lag_seconds'

/** Every series and its value, as Prometheus parses them. */
async function series(): Promise<ReadonlyMap<string, number>> {
  const lines = (await meter.read())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  )
}

/** The increase of each series that the work changes. */
async function added(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await series()
  await work()
  const changed = [...(await series())].map(([name, value]): [string, number] => [
    name,
    value - (before.get(name) ?? 0),
  ])
  return Object.fromEntries(
    changed.filter(([name, by]) => by !== 0 && !/_bucket|_sum|lag|open_/.test(name)),
  )
}

test('counts each create, step-up, bond, completion, decline and not-me once', async () => {
  const counted = await added(async () => {
    await h.reach('completed')
    await h.reach('step_up_required')
    const phone = await h.register()
    await h.decline(phone, await h.create())
    await h.decline(phone, await h.create(), 'user_unexpected')
  })
  const totals = ['sessions_created', 'bonds', 'completions', 'step_ups', 'declines', 'not_me'].map(
    (name) => counted[`bonded_${name}_total`],
  )
  assert.deepEqual(totals, [4, 1, 1, 1, 1, 1])
})

test('counts no completion for a retry that changes nothing', async () => {
  const { session } = await h.reach('completed')
  const counted = await added(() => h.complete(session))
  assert.equal(counted.bonded_completions_total, undefined)
  assert.equal(counted['bonded_request_duration_seconds_count{route="completeSession"}'], 1)
})

test('counts rejections by reason, requests by route, and polls separately from reads', async () => {
  const session = await h.create()
  const counted = await added(async () => {
    await h.api('GET', '/sessions/x', { token: h.shop.server })
    await h.api('GET', `/sessions/${session.id}`)
    await h.api('GET', `/sessions/${session.id}?wait_ms=0`, { token: h.shop.server })
  })
  assert.deepEqual(counted, {
    'bonded_refusals_total{reason="session_not_found"}': 1,
    'bonded_refusals_total{reason="credential_missing"}': 1,
    'bonded_request_duration_seconds_count{route="getSession"}': 2,
    'bonded_request_duration_seconds_count{route="pollSession"}': 1,
  })
})

test('counts a failure of the database for its cause alone, whatever work it stops', async () => {
  using own = prometheusMeter({ version: '9.8.7' })
  await using locked = await harness({ meter: own })
  using other = new DatabaseSync(locked.databaseFile)
  other.exec('begin immediate')
  const body = { workflow: 'strict' }
  const { status } = await locked.api('POST', '/sessions', { token: locked.shop.server, body })
  assert.equal(status, 503)
  locked.clock.advance(60_000)
  const failedWork = () => locked.lines.filter((line) => line.includes('"work":"receipts"'))
  while (failedWork().length === 0) await new Promise(setImmediate)
  const failures = (await own.read()).match(
    /^bonded_(?:background_)?failures_total\{.*(?= [1-9])/gm,
  )
  assert.deepEqual(failures, ['bonded_failures_total{cause="database_locked"}'])
  other.exec('rollback')
})

test('counts the writes of one turn as one commit with their number of units', async () => {
  const before = await series()
  const unit = h.service.store.write((tables) =>
    tables.sessions.storeOrigin('sess_x' as never, 'x'),
  )
  await Promise.all([
    unit,
    ...Array.from({ length: 4 }, () =>
      h.service.store.write((tables) => tables.sessions.storeOrigin('sess_x' as never, 'x')),
    ),
  ])
  const now = await series()
  const by = (name: string) => (now.get(name) ?? 0) - (before.get(name) ?? 0)
  assert.deepEqual([by('bonded_commit_units_count'), by('bonded_commit_units_sum')], [1, 5])
})

test('counts a channel while it is open', async () => {
  const session = await h.create()
  const open = async () => (await series()).get('bonded_open_channels')
  assert.equal(await open(), 0)
  const socket = new WebSocket(`ws://127.0.0.1:${h.running.port}/sessions/${session.id}`, [
    'bonded.v1',
    `watch.${session.watch_token}`,
  ])
  await new Promise((resolve) => socket.once('message', resolve))
  assert.equal(await open(), 1)
  await h.kill(session)
  await new Promise((resolve) => socket.once('close', resolve))
  // The service processes the close in a later turn than the client.
  while ((await open()) !== 0) await new Promise(setImmediate)
})

test('counts open connections, and those that the connection limits closed', async () => {
  using own = prometheusMeter({ version: '9.8.7' })
  await using capped = await harness({ meter: own, connections: { network: 1 } })
  const connections = async () =>
    (await own.read()).split('\n').filter((line) => /^bonded_(open_)?connections/.test(line))
  const closed = (how: string, count: number) =>
    `bonded_connections_closed_total{how="${how}"} ${count}`
  assert.deepEqual(await connections(), [
    'bonded_open_connections 0',
    closed('rejected', 0),
    closed('evicted', 0),
  ])
  using idle = await rawClient(capped.running.port)
  using newer = await rawClient(capped.running.port)
  await idle.closed
  assert.deepEqual(await connections(), [
    'bonded_open_connections 1',
    closed('rejected', 0),
    closed('evicted', 1),
  ])
  newer.send('GET /api/v1/sessions/x?wait_ms=20000 HTTP/1.1\r\n')
})

test('creates no series from paths, methods, hosts, ids or reasons of callers', async () => {
  const before = [...(await series()).keys()].sort()
  for (let index = 0; index < 50; index++) {
    await h.call('GET', `/junk-${index}/${'x'.repeat(index)}`, {
      headers: { 'x-request-id': `junk-${index}`, host: `junk-${index}` },
    })
    await h.api('GET', `/sessions/junk-${index}?wait_ms=junk-${index}&junk-${index}=1`, {
      token: h.shop.server,
    })
    await h.api('POST', '/sessions', { token: h.shop.server, body: { [`junk-${index}`]: index } })
  }
  for (const method of METHODS.filter((name) => name !== 'CONNECT'))
    await h.api(method, '/sessions')
  assert.deepEqual([...(await series()).keys()].sort(), before)
})

test('reports the version, the runtime and the event loop lag', async () => {
  const now = await series()
  assert.equal(now.get(`bonded_build_info{version="9.8.7",node="${process.versions.node}"}`), 1)
  for (const quantile of ['0.5', '0.99', '1'])
    assert.ok((now.get(`bonded_event_loop_lag_seconds{quantile="${quantile}"}`) ?? -1) >= 0)
})

test('serves metrics on a separate port', async () => {
  await using listener = await listenForMetrics(meter, { host: '127.0.0.1', port: 0 })
  assert.notEqual(listener.port, h.running.port)
  const status = (port: number, path: string) =>
    new Promise<number | undefined>((resolve, reject) =>
      get({ port, path, agent: false }, (reply) => resolve(reply.resume().statusCode)).on(
        'error',
        reject,
      ),
    )
  assert.equal(await status(listener.port, '/metrics'), 200)
  assert.equal(await status(listener.port, '/'), 404)
  assert.equal(await status(h.running.port, '/metrics'), 404)
})

test('rejects a metrics request whose Host is a domain, which a hostile page could own', async () => {
  await using listener = await listenForMetrics(meter, { host: '127.0.0.1', port: 0 })
  const statusFor = async (hosts: string) => {
    using client = await rawClient(listener.port)
    client.send(`GET /metrics HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`)
    return /^HTTP\/1.1 (\d+)/.exec(await client.closed)?.[1]
  }
  for (const host of [
    'localhost',
    `127.0.0.1:${listener.port}`,
    '[::1]:9464',
    '10.0.0.7',
    'bonded:9',
  ])
    assert.equal(await statusFor(`Host: ${host}\r\n`), '200', host)
  for (const host of [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '',
    '[evil.example]',
    'a b',
  ])
    assert.equal(await statusFor(`Host: ${host}\r\n`), '403', host)
  assert.equal(await statusFor('Host: localhost\r\nHost: evil.example\r\n'), '403')
})

test('reads the figures of the database once for each scrape, in seconds', async () => {
  using own = prometheusMeter({ version: '1' })
  let reads = 0
  own.watchDatabase(() => {
    reads++
    const counts = { usedConnections: 3, idleConnections: 7, waitingCalls: 2 }
    return { ...counts, roundTripMs: 40, clockAheadMs: -1_500 }
  })
  own.droppedSpans(512)
  const text = await own.read()
  assert.equal(reads, 1)
  for (const line of [
    'bonded_database_connections{state="used"} 3',
    'bonded_database_connections{state="idle"} 7',
    'bonded_database_connections{state="waiting"} 2',
    'bonded_database_round_trip_seconds 0.04',
    'bonded_clock_difference_seconds -1.5',
    'bonded_spans_dropped_total 512',
  ])
    assert.ok(text.split('\n').includes(line), line)
})

test('each duration and each time is in seconds, as its name says', async () => {
  using own = prometheusMeter({ version: '1' })
  own.responded({ route: 'channel', ms: 1_500, reason: undefined })
  own.responded({ route: 'getSession', ms: 40, reason: undefined })
  own.measuredReceiptLog({ oldestWaitingMs: 2_500, isRefused: false, begunAt: 1_700_000_000_500 })
  own.measuredWebhooks({ waiting: 1, oldestDueMs: 3_500, openBreakers: 0, oldestAuditMs: 4_500 })
  own.watchDatabase(() => ({
    usedConnections: 0,
    idleConnections: 0,
    waitingCalls: 0,
    roundTripMs: 5_500,
    clockAheadMs: 6_500,
  }))
  own.watch({
    openChannels: () => 0,
    clockStepMs: () => 7_500,
    connections: () => ({ open: 0, rejected: 0, evicted: 0 }),
    waitingRequests: () => 0,
  })
  const text = await own.read()
  const expected = [
    'bonded_request_duration_seconds_sum{route="channel"} 1.5',
    'bonded_request_duration_seconds_sum{route="getSession"} 0.04',
    'bonded_receipt_oldest_waiting_seconds 2.5',
    'bonded_receipt_log_begun_timestamp_seconds 1700000000.5',
    'bonded_webhook_oldest_due_seconds 3.5',
    'bonded_audit_oldest_undelivered_seconds 4.5',
    'bonded_database_round_trip_seconds 5.5',
    'bonded_clock_difference_seconds 6.5',
    'bonded_clock_step_seconds 7.5',
  ]
  for (const line of expected) assert.ok(text.split('\n').includes(line), line)
  // Node measures the lag itself, and the test above has it.
  const named = [...text.matchAll(/^# TYPE (\w+_seconds) /gm)].map(([, name = '']) => name)
  const covered = [...expected.map((line) => line.split(/_sum|[{ ]/)[0] ?? ''), LAG]
  assert.deepEqual(named.toSorted(), [...new Set(covered)].toSorted())
})
