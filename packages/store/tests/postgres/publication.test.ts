import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { RETENTION_AFTER_END_MS } from '../../../core/src/domain/lifetimes.ts'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { StoreError } from '@bonded/core/ports/store'
import { asStoreError } from '../../src/postgres/postgres-errors.ts'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase } from '../servers/test-database.ts'
import { ADD_TENANTS, newSession, NOW } from '../tables/table-operations.ts'

const DAY_MS = 24 * 60 * 60_000
const database = await postgresDatabase()
const store = (await database.openStore(NOW))({ bus: localBus(), meter: noMeter })
const sql = (text: string) => runSql(database.url, text)
after(async () => {
  await store[Symbol.asyncDispose]()
  await database.drop()
})

test('every table has a primary key, by which a publication names a deleted row', async () => {
  const without = await sql(
    `select relname from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
     and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)`,
  )
  assert.deepEqual(without, [])
})

test('expires and purges sessions of a database whose tables are all published', async () => {
  await sql(ADD_TENANTS)
  await sql('create publication everything for all tables')
  const session = newSession(store.newSessionId(NOW, new Uint8Array(16).fill(7)))
  await store.write((tables) => tables.sessions.create(session))
  const at = (now: number) =>
    ({ store, clock: { now: () => now }, settings: {} }) as unknown as Service
  assert.equal((await expireSessions(at(NOW + DAY_MS))).done, 1)
  const events = async () => Number((await sql('select count(*) from session_event'))[0]?.['count'])
  assert.ok((await events()) > 0)
  assert.equal((await purgeSessions(at(NOW + DAY_MS + RETENTION_AFTER_END_MS + 1))).done, 1)
  assert.equal(await events(), 0)
})

test('does not take a table that a publication cannot name rows of for a standby', async () => {
  await sql('create table without_key (id bigint); insert into without_key values (1)')
  const failure: unknown = await sql('delete from without_key').catch((thrown: unknown) => thrown)
  assert.equal((failure as { code?: string }).code, '55000')
  const error = asStoreError(failure, { to: 'write', where: 'the database' })
  assert.ok(error instanceof StoreError)
  assert.equal(error.kind, 'unsuitable')
  assert.match(error.message, /publication.*replica identity/)
})
