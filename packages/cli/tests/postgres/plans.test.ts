import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { SubjectId } from '@bonded/contract'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { openPostgres } from '../../../store/src/postgres/open-postgres.ts'
import { listDevices } from '../../../core/src/operations/admin/devices.ts'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import type { Store } from '../../../core/src/ports/store.ts'
import { type Harness, harness, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { runSql } from '../../../store/tests/servers/postgres.ts'
import { until } from '../../../../tests/harness/process.ts'
import { listStatement } from '../../../store/src/tables/session-list.ts'
import { settingsOf } from '../../../store/tests/servers/test-database.ts'

const AT_ONCE = 10
/** A connection plans a statement for all values once it has executed it five times. */
const ROUNDS = 6
const WITHIN_MS = 10_000
/** The clock of the service stays, because maintenance would also purge: once a minute. */
const LATER = { now: () => Date.now() + 365 * 24 * 60 * 60_000 }
/**
 * Read at each start or purge. The first has a row for each step, the second none on a new
 * database, the third at most ten for each tenant, and the last one.
 */
const SMALL = `'migration', 'webhook_endpoint', 'tenant'`

/** Creates a session and brings it to its end. */
async function runLifecycle(h: Harness): Promise<void> {
  const phone = await h.register()
  const session = (
    await h.api('POST', '/sessions', {
      token: h.shop.server,
      headers: { 'idempotency-key': randomUUID() },
      body: { workflow: 'credit_application' },
    })
  ).body
  assert.equal((await h.claim(phone, session)).status, 200)
  assert.equal((await h.attest(phone, await h.view(phone, session))).status, 200)
  assert.equal((await h.get(session)).body.state, 'bonded')
  assert.equal((await h.complete(session)).status, 200)
  const subjectId = phone.subject_id as SubjectId
  assert.equal((await listDevices(h.service, { subjectId, limit: 10 })).length, 1)
}

/** Runs lifecycles, and what two nodes do for them in the background. */
async function runLoad(h: Harness, other: Store): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    // They expire below. The purge leaves them, so that the tables grow.
    for (let count = 0; count < AT_ONCE; count++) await h.create()
    await Promise.all(Array.from({ length: AT_ONCE }, () => runLifecycle(h)))
    await other.externalChanges()
    await h.service.store.externalChanges()
    await h.service.peers.exchange?.()
    await other.messages?.exchange({ number: round, text: '' })
    const { store } = h.service
    const later = { store, clock: LATER, settings: {} } as unknown as Service
    assert.ok((await expireSessions(later)).done > 0)
    assert.ok((await purgeSessions(later)).done > 0)
  }
}

test('no call reads a table that grows from end to end, on a new database without statistics', async () => {
  await using h = await harness({ onPostgres: true })
  const url = h.databaseUrl as string
  /** Resolves once the server has counted what closed connections did. */
  const untilCounted = () =>
    until(async () => {
      const [{ open } = {}] = await runSql(
        url,
        `select count(*)::int as open from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      )
      return open === 0 || undefined
    }, WITHIN_MS)
  // Later connections plan for the tables as they have become.
  for (const state of ['new', 'grown']) {
    await h.running[Symbol.asyncDispose]()
    await untilCounted()
    // A credential of each tenant has asked each of its users.
    await runSql(
      url,
      `insert into inbox_caller (tenant_id, subject_id, key_id, asked_at, since_approval, since_answer)
       select tenant_id, subject_id, key_id, created_at, 1, 1
       from pairwise_subject join server_credential using (tenant_id)`,
    )
    await runSql(url, 'select pg_stat_reset()')
    await h.restart()
    const open = await openPostgres(settingsOf(url), {
      now: h.clock.now(),
      idKeys: keyringOf([ROOT_KEY]).idKeys,
    })
    const other = open({ bus: { ...localBus(), isWatched: () => true }, meter: noMeter })
    await other.externalChanges()
    await runLoad(h, other)
    await other[Symbol.asyncDispose]()
    await h.running[Symbol.asyncDispose]()
    await untilCounted()
    const read = await runSql(
      url,
      `select relname as table, seq_scan::int as times, seq_tup_read::int as rows
       from pg_stat_user_tables where seq_scan > 0 and relname not in (${SMALL})`,
    )
    assert.deepEqual(read, [], `${state} tables`)
  }
})

test('a list of sessions follows the index of their keys, with every filter', async () => {
  await using h = await harness({ onPostgres: true })
  await h.create()
  const tenantId = h.shop.tenant.id
  const state = { is: 'expired', at: h.clock.now() } as const
  const time = { subjectRef: 'x', since: h.clock.now(), until: h.clock.now() }
  for (const filter of [{}, { tenantId }, { state }, { tenantId, state }, time]) {
    const { text, values } = listStatement({ ...filter, limit: 10 }, Number.MAX_SAFE_INTEGER)
    const literal = (_: string, number: string) => `'${String(values[Number(number) - 1])}'`
    // On a small table PostgreSQL rather reads and sorts all of it, which this forbids if it can.
    const plan = await runSql(
      `${h.databaseUrl}?options=-c%20enable_seqscan%3Doff%20-c%20enable_sort%3Doff`,
      `explain ${text.replaceAll(/\$(\d+)/g, literal)}`,
    )
    const lines = plan.map((line) => String(line['QUERY PLAN'])).join('\n')
    assert.match(lines, /Index Scan Backward/)
    assert.doesNotMatch(lines, /Seq Scan|Sort/)
  }
})
