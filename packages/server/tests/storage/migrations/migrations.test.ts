import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { migrate } from '../../../../store/src/migrations/migrate.ts'
import { MIGRATIONS } from '../../../../store/src/migrations/migrations.ts'
import { IDEMPOTENCY_KEY_TTL_MS } from '../../../../core/src/domain/lifetimes.ts'
import { purgeSessions } from '../../../../core/src/operations/purge-sessions.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const NUMBER = '+491701234567'

test('deletes unsealed phone numbers at the next start and keeps sealed ones', async () => {
  await using h = await harness()
  const created = () => h.create({ workflow: 'credit_application', phone_number: NUMBER })
  const [old, sealed] = [await created(), await created()]
  using database = new DatabaseSync(h.databaseFile)
  const numberOf = ({ id }: CreatedSession) =>
    database.prepare('select phone_number from session where id = ?').get(id)?.phone_number
  const kept = numberOf(sealed)
  assert.ok(typeof kept === 'string' && !kept.includes(NUMBER.slice(1)))
  // The state of a database without step 7.
  database.prepare('update session set phone_number = ? where id = ?').run(NUMBER, old.id)
  database.exec('delete from migration where number = 7')

  assert.deepEqual(migrate(h.databaseFile, 0), ['7 no phone number rests plain'])
  assert.deepEqual([numberOf(old), numberOf(sealed)], [null, kept])
})

const STEP = MIGRATIONS.find(({ name }) => name.includes('short hash')) ?? { number: 0, name: '' }
const HASHES = `${STEP.number} ${STEP.name}`

/** Replaces the table of Idempotency-Keys by that of an older version, with readable keys. */
function readableKeys(
  database: DatabaseSync,
  keys: readonly { key: string; sessionId: string; tenantId: string }[],
): void {
  const rows = database.prepare('select * from idempotency').all()
  database.exec(
    `drop table idempotency;
     create table idempotency (
       tenant_id text not null, idempotency_key text not null, body_mac text not null, root_key_id text not null,
       session_id text not null, session_began_at bigint, primary key (tenant_id, idempotency_key));
     create index idempotency_by_session on idempotency (session_began_at, session_id);
     delete from migration where number = ${STEP.number}`,
  )
  for (const { key, sessionId, tenantId } of keys) {
    const row = rows.find(({ session_id: id }) => id === sessionId)
    database
      .prepare('insert into idempotency values (?, ?, ?, ?, ?, ?)')
      .run(
        tenantId,
        key,
        row?.body_mac ?? '',
        row?.root_key_id ?? '',
        sessionId,
        row?.session_began_at ?? null,
      )
  }
}

test('finds a readable Idempotency-Key of an older version for its tenant alone, and stores its hash', async () => {
  await using h = await harness()
  const create = async (key: string, token = h.shop.server) =>
    (
      await h.api('POST', '/sessions', {
        token,
        headers: { 'idempotency-key': key },
        body: { workflow: 'credit_application' },
      })
    ).body
  const created = await create('order-4711')
  using database = new DatabaseSync(h.databaseFile)
  const of = { sessionId: created.id, tenantId: created.tenant_id }
  readableKeys(database, [
    { ...of, key: 'order-4711' },
    // Its session was purged before sessions had a stored time of creation.
    { ...of, key: 'forgotten', sessionId: 'sess_purged' },
  ])

  assert.deepEqual(migrate(h.databaseFile, 0), [HASHES])
  assert.equal((await create('order-4711')).id, created.id)
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  assert.notEqual((await create('order-4711', other.server)).id, created.id)
  assert.notEqual((await create('forgotten')).id, created.id)
  const columns = database.prepare(`select name from pragma_table_info('idempotency')`).all()
  assert.ok(!columns.some(({ name }) => name === 'idempotency_key'))
})

test('purges an Idempotency-Key from an older version by the age of its session', async () => {
  await using h = await harness()
  const create = async (key: string) =>
    (
      await h.api('POST', '/sessions', {
        token: h.shop.server,
        headers: { 'idempotency-key': key },
        body: { workflow: 'credit_application' },
      })
    ).body
  const ended = await create('ended')
  await h.kill(ended)
  h.clock.advance(1)
  const live = await create('live')
  using database = new DatabaseSync(h.databaseFile)
  readableKeys(database, [
    { key: 'ended', sessionId: ended.id, tenantId: ended.tenant_id },
    { key: 'live', sessionId: live.id, tenantId: live.tenant_id },
  ])
  // The state of a database without step 9.
  database.exec(
    'drop index idempotency_by_session; alter table idempotency drop column session_began_at',
  )
  database.exec(
    'create index idempotency_by_session on idempotency (session_id); delete from migration where number = 9',
  )

  assert.deepEqual(migrate(h.databaseFile, 0), [
    '9 Idempotency-Keys lie by when their session began',
    HASHES,
  ])
  h.clock.advance(IDEMPOTENCY_KEY_TTL_MS - 1)
  await purgeSessions(h.service)
  const keys = database.prepare('select session_id from idempotency').all()
  assert.deepEqual(
    keys.map(({ session_id: id }) => id),
    [live.id],
  )
})
