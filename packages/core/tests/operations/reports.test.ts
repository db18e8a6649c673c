import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportBrowserProof, warnOfSettings } from '../../src/operations/admin/browser-proof.ts'
import { reportCompletions } from '../../src/operations/admin/report-completions.ts'
import { reportReceiptLog } from '../../src/operations/admin/report-receipt-log.ts'
import { reportTotals } from '../../src/operations/admin/report-totals.ts'
import { reportWakeUps } from '../../src/operations/admin/report-wake-ups.ts'
import { reportWebhooks } from '../../src/operations/admin/report-webhooks.ts'
import type { Session } from '../../src/domain/session.ts'
import { CREATED_AT as NOW, sessionWith, tenantWith } from '../records.ts'
import { serviceOver } from './stub-service.ts'

/*
 * What `bonded doctor` and `bonded stats` say. Each warning is written out, and each of its limits
 * is met and exceeded by a millisecond, or by one.
 */
const DAY = 24 * 60 * 60_000

/** A head of the log without a problem, and then with these members. */
const head = (members: object = {}) => ({
  epoch: '',
  size: 9,
  auditSize: 4,
  checkpoint: 'text',
  checkpointSize: 8,
  cosigned: '',
  cosignedSize: 7,
  cosignedAt: NOW,
  refused: '',
  ...members,
})

function logReport(of: {
  head?: object
  oldest?: object
  entry?: object
  closed?: readonly object[]
  witnesses?: readonly object[]
}) {
  const { oldest, entry, closed = [], witnesses = [] } = of
  return reportReceiptLog(
    serviceOver(
      {
        receipts: { unlogged: () => (oldest ? [oldest] : []) },
        receiptLog: { head: () => head(of.head), closed: () => closed },
        audit: { list: ({ after }: { after: number }) => (entry && after === 4 ? [entry] : []) },
      },
      { witnesses },
    ),
  )
}

test('the log of receipts is reported with its sizes, its name, and who has cosigned it', async () => {
  const witness = (name: string) => ({ name, isLine: (line: string) => line === `— ${name}` })
  const report = await logReport({
    head: { epoch: 'e2', cosigned: 'checkpoint\n— b\n', cosignedAt: NOW - 5 },
    closed: [
      { closedAt: NOW - 9 * DAY, reason: 'restore' },
      { closedAt: NOW - DAY, reason: 'failover' },
    ],
    witnesses: [witness('a'), witness('b')],
  })
  assert.deepEqual(report, {
    entries: 9,
    auditEntries: 4,
    closed: 2,
    checkpointSize: 8,
    cosignedSize: 7,
    cosignedAt: NOW - 5,
    origin: 'bond.example/receipts/log/e2',
    witnesses: [
      { name: 'a', hasCosigned: false },
      { name: 'b', hasCosigned: true },
    ],
    warnings: [],
  })
  assert.equal((await logReport({ head: { cosigned: '' } })).cosignedAt, null)
})

test('each problem of the log of receipts has its own warning', async () => {
  const warningsOf = async (of: Parameters<typeof logReport>[0]) => (await logReport(of)).warnings
  assert.deepEqual(await warningsOf({ head: { refused: 'It lacks entries.' } }), [
    'No node signs the log of receipts. It lacks entries. If the database was restored or has lost changes, run: bonded receipt new-epoch. If this is the wrong database, set BONDED_DATABASE_URL to the right one.',
  ])
  const closed = [
    { closedAt: NOW - 9, reason: 'restore' },
    { closedAt: NOW - DAY + 1, reason: 'failover' },
  ]
  assert.deepEqual(await warningsOf({ head: { epoch: 'e2' }, closed }), [
    'A log of receipts was closed at 2026-11-25T12:00:00.001Z (failover), and another one continues it. Tell your tenants, and ask the operators of the witnesses to accept bond.example/receipts/log/e2.',
  ])
  assert.deepEqual(await warningsOf({ oldest: { madeAt: NOW - 60_000 } }), [])
  assert.deepEqual(await warningsOf({ oldest: { madeAt: NOW - 60_001 } }), [
    'The receipt of 2026-11-26T11:58:59.999Z is not in the log, although receipts promise 60 s. Usually the service does not run, or has no receipt keys; otherwise its log names the problem. The service keeps such receipts until it has appended them.',
  ])
  assert.deepEqual(await warningsOf({ entry: { number: 5, at: NOW - 60_000 } }), [])
  assert.deepEqual(await warningsOf({ entry: { number: 5, at: NOW - 60_001 } }), [
    'The audit entry 5 of 2026-11-26T11:58:59.999Z is not in the log of receipts. Usually the service does not run, or has no receipt keys. A change of the entry cannot be found until it is there.',
  ])
  const witnesses = [{ name: 'a', isLine: () => false }]
  const old = (members: object) => ({ witnesses, head: { cosignedAt: NOW - DAY - 1, ...members } })
  assert.deepEqual(await warningsOf(old({ cosignedAt: NOW - DAY })), [])
  assert.deepEqual(await warningsOf(old({ size: 0 })), [])
  assert.deepEqual(await warningsOf({ ...old({}), witnesses: [] }), [])
  assert.deepEqual(await warningsOf(old({})), [
    "No witness has cosigned the log of receipts yet. The service's log names the problem of each.",
  ])
  assert.deepEqual(await warningsOf(old({ cosigned: 'text' })), [
    "No witness has cosigned the log of receipts since 2026-11-25T11:59:59.999Z. The service's log names the problem of each.",
  ])
})

test('webhooks that are not received are named with their owner', async () => {
  const report = async (figures: object, endpoints: readonly object[], future = 0) =>
    reportWebhooks(
      serviceOver({
        webhooks: { endpoints: () => endpoints, figures: () => figures, futureTimes: () => future },
      }),
    )
  const quiet = { waiting: 3, oldestDueMs: 4, openBreakers: 5, oldestAuditMs: 300_000 }
  const endpoint = (id: string, members: object) => ({
    id,
    tenantId: 'ten_1',
    disabledReason: null,
    failures: 0,
    ...members,
  })
  const endpoints = [
    endpoint('we_1', { disabledReason: 'gone' }),
    endpoint('we_2', { tenantId: 'operator', disabledReason: 'gone' }),
    endpoint('we_3', { failures: 5 }),
    endpoint('we_4', { failures: 4 }),
    endpoint('we_5', { failures: 9, disabledReason: 'tenant' }),
    endpoint('we_6', { failures: 6, tenantId: 'operator' }),
  ]
  assert.deepEqual(await report(quiet, endpoints), {
    ...quiet,
    endpoints: 6,
    warnings: [
      'The webhook endpoint we_1 of ten_1 is disabled: it answered 410.',
      'The webhook endpoint we_2 of the operator is disabled: it answered 410.',
      'The webhook endpoint we_3 of ten_1 has failed 5 times in a row.',
      'The webhook endpoint we_6 of the operator has failed 6 times in a row.',
    ],
  })
  assert.deepEqual((await report({ ...quiet, oldestAuditMs: 300_001 }, [], 2)).warnings, [
    'An endpoint of the operator has not accepted an audit entry of 2026-11-26T11:54:59.999Z. Usually it rejects the calls, or no service runs: bonded webhook list operator',
    '2 times of webhooks are in the future: a clock was ahead, or this one is behind. A running service with the right time repairs them within a minute.',
  ])
})

/** Lists these sessions, whatever else the operation asks for. */
const listing = (sessions: readonly Session[], limits: number[] = []) => ({
  sessions: {
    list: ({ limit }: { limit: number }) => {
      limits.push(limit)
      return { sessions, readTo: undefined }
    },
  },
})

test('a backend that completes sessions without an outcome is named, with their number', async () => {
  const of = (tenantId: string, state: Session['state'], outcome: Session['outcome']) =>
    sessionWith({ tenantId: tenantId as Session['tenantId'], state, outcome })
  const limits: number[] = []
  const sessions = [
    of('ten_1', 'completed', null),
    of('ten_2', 'completed', 'accepted'),
    of('ten_3', 'completed', null),
    of('ten_1', 'completed', null),
    of('ten_1', 'bonded', null),
    of('ten_3', 'completed', 'in_review'),
  ]
  const says = (tenant: string, count: number) =>
    `The backend of the tenant ${tenant} completed ${count} recent sessions without X-Bond-Outcome. Users then read “complete” where an employee still decides, and their keys do not become known. Upgrade its @bonded/integrator, or send the header`
  assert.deepEqual(await reportCompletions(serviceOver(listing(sessions, limits))), {
    completed: 5,
    warnings: [says('ten_1', 2), says('ten_3', 1)],
  })
  assert.deepEqual(limits, [1_001])
})

test('phones that cannot be woken are a warning, and no phone is none', async () => {
  const report = (count: number, key: object | undefined) =>
    reportWakeUps(
      serviceOver(
        { push: { count: () => count, key: () => 'stored' } },
        { keys: { pushKeys: { open: () => key && { key, stored: 'stored' } } } },
      ),
    )
  assert.equal(await report(0, {}), undefined)
  assert.deepEqual(await report(7, {}), { says: 'Phones that have subscribed: 7.', warnings: [] })
  assert.deepEqual(await report(7, undefined), {
    says: 'Phones that have subscribed: 7.',
    warnings: [
      'No listed root key opens the key of wake-ups. List the root key that does, or restart: a start replaces the key, and the phones must subscribe again.',
    ],
  })
})

const BROWSER = [{ name: 'wire', actions: ['send'], require: ['browser'] }] as const

test('a tenant that requires the browser is warned of its origins, and of unused bonds', async () => {
  const id = (tenant: string) => tenant as Session['tenantId']
  const tenant = (name: string, members: object = {}) =>
    tenantWith({ id: id(name), workflows: BROWSER as never, ...members })
  const bond = (tenantId: string, members: Partial<Session> = {}) =>
    sessionWith({
      tenantId: id(tenantId),
      state: 'expired',
      browserProof: { commitment: 'c' },
      ...members,
    })
  const times = (count: number, session: Session) => Array.from({ length: count }, () => session)
  const limits: number[] = []
  const sessions = [
    ...times(3, bond('ten_1')),
    ...times(2, bond('ten_2')),
    bond('ten_2', { completedAt: NOW }),
    ...times(4, bond('ten_3')),
    bond('ten_3', { state: 'completed' }),
    ...times(3, bond('ten_4', { workflow: 'card' })),
    ...times(3, bond('ten_4', { browserProof: null })),
  ]
  const report = await reportBrowserProof(
    serviceOver({
      ...listing(sessions, limits),
      tenants: {
        list: () => [
          tenant('ten_1'),
          tenant('ten_2', { demo: true }),
          tenant('ten_3', { origins: [] }),
          tenant('ten_4'),
          tenantWith(),
        ],
      },
    }),
    (origin) => new URL(origin).hostname,
  )
  assert.deepEqual(report, {
    tenants: 4,
    demos: 1,
    warnings: [
      'The tenant ten_3 requires the browser and has no origin, so no page of it can give the proof. Add one: bonded tenant update ten_3 --add-origin <origin>',
      '3 recent sessions of the workflow wire of the tenant ten_1 were confirmed in the browser and expired, and none was completed. Its backend may not send X-Bond-Browser-Secret, or its gate expects another origin',
    ],
  })
  assert.deepEqual(limits, [5_001])
})

test('a list of related origins has at most five names of sites', () => {
  const warn = (names: string[], relatedOrigins = true) =>
    warnOfSettings(
      { settings: { relatedOrigins } as never },
      [tenantWith({ workflows: BROWSER as never, origins: names })],
      (origin) => (origin === 'none' ? undefined : origin),
    )
  assert.deepEqual(warn(['e', 'd', 'c', 'b', 'a', 'a', 'none']), [])
  assert.deepEqual(warn(['f', 'e', 'd', 'c', 'b', 'a'], false), [])
  assert.deepEqual(warn(['f', 'e', 'd', 'c', 'b', 'a', 'a']), [
    'The list of related origins has 6 site names (a, b, c, d, e, f). Browsers must accept only 5, so users of the others may be unable to confirm. Remove origins, or set BONDED_RELATED_ORIGINS=off',
  ])
})

test('totals begin with their hour or their day, and end with now', async () => {
  const rowOf = (created: number) => ({ created, latencies: [] })
  const report = async (given: object, rows: number) => {
    const asked: object[] = []
    const found = Array.from({ length: rows }, () => rowOf(1))
    const service = serviceOver({
      totals: {
        list: (query: object) => {
          asked.push(query)
          return found
        },
        sum: () => rowOf(99),
      },
    })
    const { sum, asOf } = await reportTotals(service, given as never)
    assert.equal(asOf, NOW)
    return { ...(asked[0] as { since: number; until: number }), created: sum.created }
  }
  const since = Date.parse('2026-11-20T05:06:07.008Z')
  const query = { by: 'hour', since, limit: 3 }
  const hourly = await report(query, 2)
  assert.deepEqual(
    [new Date(hourly.since).toISOString(), hourly.until, hourly.created],
    ['2026-11-20T05:00:00.000Z', NOW + 1, 2],
  )
  const daily = await report({ ...query, by: 'day', until: since + 5 }, 3)
  assert.deepEqual(
    [new Date(daily.since).toISOString(), daily.until, daily.created],
    ['2026-11-20T00:00:00.000Z', since + 5, 99],
  )
  const byWorkflow = await report({ ...query, by: 'workflow', isRanking: true }, 3)
  assert.deepEqual([byWorkflow.since % 3_600_000, byWorkflow.created], [0, 3])
  assert.equal((await report({ ...query, skip: 1 }, 2)).created, 99)
})
