import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Connections } from '../../src/postgres/server/connections.ts'
import { withConnections } from '../../src/postgres/open-postgres.ts'
import { runSql } from '../servers/postgres.ts'
import { migratedDatabase, postgresDatabase, settingsOf } from '../servers/test-database.ts'

const LOCK = { text: 'select pg_advisory_xact_lock($1)', values: [1] }
const BEGIN = { text: 'begin', values: [] }

const database = await postgresDatabase()
after(() => database.drop())

test('reports the lock time-out of a statement that was sent ahead, not its consequence', async () => {
  await using pool = await Connections.open(settingsOf(database.url, { lockTimeoutMs: 100 }))
  const [owner, waiter] = [await pool.take(), await pool.take()]
  owner.sendAhead(BEGIN)
  await owner.run(LOCK)
  waiter.sendAhead(BEGIN)
  waiter.sendAhead(LOCK)
  // PostgreSQL rejects this one because the transaction has failed, with a code of its own.
  await assert.rejects(waiter.run({ text: 'select 1', values: [] }), { code: '55P03' })
  await waiter.abandon()
  await owner.abandon()
})

test('reports the lock time-out of one of several statements for all of them', async () => {
  await using pool = await Connections.open(settingsOf(database.url, { lockTimeoutMs: 100 }))
  const [owner, waiter] = [await pool.take(), await pool.take()]
  owner.sendAhead(BEGIN)
  await owner.run(LOCK)
  waiter.sendAhead(BEGIN)
  const failed = await Promise.allSettled([
    waiter.run(LOCK),
    waiter.run({ text: 'select 1', values: [] }),
  ])
  const codes = failed.map((each) => (each.status === 'rejected' ? each.reason.code : undefined))
  assert.deepEqual(codes, ['55P03', '55P03'])
  await waiter.abandon()
  await owner.abandon()
})

test('the start fails, and does not hang, when the server refuses the second connection', async () => {
  const own = await migratedDatabase()
  // The limit holds for the role of the nodes, which is not a superuser.
  const url = await own.migrated(Date.now())
  await runSql(own.url, `alter database "${new URL(own.url).pathname.slice(1)}" connection limit 1`)
  const opening = withConnections(settingsOf(url), async () => undefined)
  await assert.rejects(opening, /the server lacks resources/)
  await own.drop()
})
