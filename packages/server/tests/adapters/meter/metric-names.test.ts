import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { listenForMetrics } from '../../../src/adapters/meter/metrics-listener.ts'
import { prometheusMeter } from '../../../src/adapters/meter/prometheus-meter.ts'

/** Dashboards and alerts of operators have the names, and the texts are what they read there. */
const METRICS = `
bonded_sessions_created_total counter Sessions created.
bonded_bonds_total counter Sessions bonded to a phone.
bonded_step_ups_total counter Sessions that required a step-up.
bonded_completions_total counter Sessions completed after the action.
bonded_declines_total counter Sessions that the user declined.
bonded_not_me_total counter Sessions that the user reported as not started by them.
bonded_expiries_total counter Sessions that expired.
bonded_failures_total counter Failures by cause, of requests and of background work.
bonded_limit_exchanges_total counter Exchanges of limits with the other nodes, by result. Without them a node counts alone.
bonded_refusals_total counter Requests rejected, by reason.
bonded_shed_requests_total counter Requests rejected during an overload, by priority and by the standing of the caller.
bonded_background_sessions_total counter Sessions processed by scheduled maintenance, by type of work.
bonded_background_failures_total counter Failures of background work that no other cause explains, by type of work.
bonded_request_duration_seconds histogram Time from request to response, by route.
bonded_commit_units histogram Units of work per commit.
bonded_spans_dropped_total counter Spans of traces that the collector did not accept in time.
bonded_node_outdated gauge 1 while a feature is in use that this node ignores, because its version is older.
bonded_open_channels gauge Open channels.
bonded_clock_step_seconds gauge How far the clock of this service was set. 0 again when it is back, or after an hour.
bonded_open_connections gauge Open connections.
bonded_waiting_requests gauge Requests that wait for their turn. Above 0 only during bursts and overloads.
bonded_connections_closed_total counter Connections closed by the connection limits: new ones, or idle ones in favor of new ones.
bonded_database_round_trip_seconds gauge Slowest reading of the clock of the database since the previous scrape.
bonded_clock_difference_seconds gauge How far the clock of this machine is ahead of the clock of the database.
bonded_database_connections gauge Connections to the database by state, and calls that wait for one.
bonded_event_loop_lag_seconds gauge Event loop lag since the previous scrape, by quantile.
bonded_build_info gauge Always 1. The labels are the versions of the service and of Node.
bonded_receipt_oldest_waiting_seconds gauge How long the oldest receipt or audit entry waits for its place in the log.
bonded_receipt_log_refused gauge 1 while this node refuses to sign, because the log does not continue what it knows.
bonded_receipt_log_begun_timestamp_seconds gauge When the log of receipts began after another one was closed. 0 for the first log.
bonded_server_credentials_expiring gauge Server credentials that expire within 14 days, or have expired in the last seven.
bonded_webhook_attempts_total counter Attempts to deliver a webhook, by result.
bonded_wake_ups_total counter Phones to wake for a request in an inbox, by result.
bonded_webhooks_given_up_total counter Webhooks whose last attempt failed.
bonded_webhooks_waiting gauge Webhooks that wait for an attempt.
bonded_webhook_oldest_due_seconds gauge How long the oldest webhook that is due waits.
bonded_webhook_breakers_open gauge Endpoints of webhooks that failed at least five times in a row.
bonded_audit_oldest_undelivered_seconds gauge How long the oldest audit entry waits for the endpoint of the operator.
`

const lines = async (meter: { read(): Promise<string> }) => (await meter.read()).split('\n')

test('every metric has its name, its type and its description', async () => {
  using meter = prometheusMeter({ version: '1' })
  const all = await lines(meter)
  const found = all.flatMap((line) => {
    const [, name, help] = /^# HELP (\w+) (.*)$/.exec(line) ?? []
    if (name === undefined) return []
    const type = all
      .find((one) => one.startsWith(`# TYPE ${name} `))
      ?.split(' ')
      .at(-1)
    return [`${name} ${type} ${help}`]
  })
  assert.deepEqual(found.toSorted(), METRICS.trim().split('\n').toSorted())
})

test('before anything happens, every series is there, and all but the times and the build are 0', async () => {
  using meter = prometheusMeter({ version: '1' })
  const all = (await lines(meter)).filter((line) => line !== '' && !line.startsWith('#'))
  const nonZero = all.filter((line) => !/ 0$|^bonded_(event_loop_lag|build_info)/.test(line))
  assert.deepEqual(nonZero, [])
  for (const [name, count] of [
    ['limit_exchanges_total', 3],
    ['webhook_attempts_total', 4],
    ['wake_ups_total', 6],
    ['background_sessions_total', 2],
    ['background_failures_total', 11],
    ['connections_closed_total', 2],
    ['event_loop_lag_seconds', 3],
    ['commit_units_bucket', 10],
  ] as const)
    assert.equal(all.filter((line) => line.startsWith(`bonded_${name}{`)).length, count, name)
  const buckets = (name: string, others = '') =>
    all.flatMap(
      (line) => new RegExp(`^bonded_${name}_bucket\\{le="(.*?)"${others}\\}`).exec(line)?.[1] ?? [],
    )
  assert.deepEqual(buckets('commit_units'), [
    '1',
    '2',
    '4',
    '8',
    '16',
    '32',
    '64',
    '128',
    '256',
    '+Inf',
  ])
  assert.equal(
    buckets('request_duration_seconds', ',route="channel"').join(),
    '0.001,0.0025,0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10,+Inf',
  )
})

test('what happens changes the series of its own name and no other', async () => {
  using meter = prometheusMeter({ version: '1' })
  const before = new Set(await lines(meter))
  const happened = (kind: string, endedReason: string | null = null, times = 1) => {
    for (let count = 0; count < times; count++)
      meter.happened({ kind } as never, { endedReason } as never)
  }
  happened('created', null, 2)
  happened('bonded', null, 3)
  happened('step_up_required', null, 4)
  happened('completed', null, 5)
  happened('expired', null, 6)
  happened('killed', 'user_declined', 7)
  happened('killed', 'user_unexpected', 8)
  happened('killed', 'killed_by_operator', 9)
  meter.failed('signer')
  meter.exchangedLimits('no_database')
  meter.responded({ route: 'qr', ms: 3, reason: 'session_claimed' })
  meter.shed('new', 'above')
  meter.worked('expire', 11)
  meter.worked('purge', 12)
  meter.workFailed('wake_ups')
  meter.committed(9)
  meter.droppedSpans(13)
  meter.measuredLevel(true)
  meter.measuredReceiptLog({ oldestWaitingMs: 14_000, isRefused: true, begunAt: 15_000 })
  meter.measuredCredentials(16)
  meter.attemptedWebhook('not_sent', false)
  meter.attemptedWebhook('rejected', true)
  meter.wokePhone('ended')
  meter.measuredWebhooks({
    waiting: 17,
    oldestDueMs: 18_000,
    openBreakers: 19,
    oldestAuditMs: 20_000,
  })
  meter.watch({
    openChannels: () => 21,
    clockStepMs: () => 22_000,
    connections: () => ({ open: 23, rejected: 24, evicted: 25 }),
    waitingRequests: () => 26,
  })
  const changed = (await lines(meter)).filter(
    (line) => !before.has(line) && !/_bucket|event_loop_lag/.test(line),
  )
  const expected = [
    'sessions_created_total 2',
    'bonds_total 3',
    'step_ups_total 4',
    'completions_total 5',
    'expiries_total 6',
    'declines_total 7',
    'not_me_total 8',
    'failures_total{cause="signer"} 1',
    'limit_exchanges_total{result="no_database"} 1',
    'refusals_total{reason="session_claimed"} 1',
    'refusals_total{reason="overloaded"} 1',
    'shed_requests_total{priority="new",caller="above"} 1',
    'background_sessions_total{work="expire"} 11',
    'background_sessions_total{work="purge"} 12',
    'background_failures_total{work="wake_ups"} 1',
    'request_duration_seconds_sum{route="qr"} 0.003',
    'request_duration_seconds_count{route="qr"} 1',
    'commit_units_sum 9',
    'commit_units_count 1',
    'spans_dropped_total 13',
    'node_outdated 1',
    'receipt_oldest_waiting_seconds 14',
    'receipt_log_refused 1',
    'receipt_log_begun_timestamp_seconds 15',
    'server_credentials_expiring 16',
    'webhook_attempts_total{result="not_sent"} 1',
    'webhook_attempts_total{result="rejected"} 1',
    'webhooks_given_up_total 1',
    'wake_ups_total{result="ended"} 1',
    'webhooks_waiting 17',
    'webhook_oldest_due_seconds 18',
    'webhook_breakers_open 19',
    'audit_oldest_undelivered_seconds 20',
    'open_channels 21',
    'clock_step_seconds 22',
    'open_connections 23',
    'connections_closed_total{how="rejected"} 24',
    'connections_closed_total{how="evicted"} 25',
    'waiting_requests 26',
  ]
  assert.deepEqual(changed.toSorted(), expected.map((line) => `bonded_${line}`).toSorted())
  meter.measuredLevel(false)
  meter.measuredReceiptLog({ oldestWaitingMs: 0, isRefused: false, begunAt: 0 })
  const later = await lines(meter)
  for (const line of ['bonded_node_outdated 0', 'bonded_receipt_log_refused 0'])
    assert.ok(later.includes(line), line)
})

test('the port of the metrics answers only probes, and GET and HEAD of its path', async () => {
  let reads = 0
  const meter = {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    read: async () => {
      if (reads++ > 0) throw new Error('broken')
      return 'metrics\n'
    },
  }
  await using listener = await listenForMetrics(meter, { host: '127.0.0.1', port: 0 })
  const answer = async (method: string, path: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>()
    const sent = request({ port: listener.port, host: '127.0.0.1', method, path, agent: false })
    sent.on('error', reject).on('response', (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => {
        const { statusCode, headers } = response
        resolve([statusCode, headers['content-type'], headers['cache-control'], body])
      })
    })
    sent.end()
    return promise
  }
  assert.deepEqual(await answer('GET', '/metrics?x=1'), [
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    'no-store',
    'metrics\n',
  ])
  assert.deepEqual(await answer('GET', '/metrics'), [500, undefined, undefined, ''])
  for (const [method, path] of [
    ['POST', '/metrics'],
    ['GET', '/metrics/'],
    ['GET', '/health/ready'],
    ['POST', '/health/alive'],
  ] as const)
    assert.deepEqual(
      await answer(method, path),
      [404, undefined, undefined, ''],
      `${method} ${path}`,
    )
  const alive = [200, 'application/json; charset=utf-8', 'no-store']
  assert.deepEqual(await answer('GET', '/health/alive'), [
    ...alive,
    '{"status":"alive","reasons":[]}',
  ])
  assert.deepEqual(await answer('HEAD', '/health/alive'), [...alive, ''])
})
