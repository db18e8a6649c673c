import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { migrate } from '../../../../store/src/migrations/migrate.ts'
import { MIGRATIONS } from '../../../../store/src/migrations/migrations.ts'
import { purgeSessions } from '../../../../core/src/operations/purge-sessions.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const DAY_MS = 24 * 60 * 60_000
/** The last step before sessions had an integer key. */
const BEFORE = 13
/** The steps that change the tables of sessions, some with others, which the migration repeats. */
const AGAIN = [14, 18, 23, 24, 26, 27, 28, 29, 42]
const STEP = '14 sessions by an integer key in time order'
const TABLES = ['session', 'session_event', 'session_device']

/**
 * Rewrites a database to the schema of step 13 and to ids that give no key: the key of session ids
 * is deleted, so the ids of the stored sessions decrypt to other keys afterwards.
 */
function downgrade(file: string): void {
  using fresh = new DatabaseSync(':memory:')
  for (const { number, statements } of MIGRATIONS)
    if (number <= BEFORE) for (const statement of statements) fresh.exec(statement)
  using database = new DatabaseSync(file)
  const join = 'join now_session using (session_key)'
  const rows = {
    session: 'select session.* from now_session session',
    session_event: `select e.*, now_session.id as session_id, now_session.created_at as session_began_at from now_session_event e ${join}`,
    session_device: `select d.*, now_session.id as session_id from now_session_device d ${join}`,
  }
  for (const table of TABLES)
    database.exec(
      `create temp table now_${table} as select * from ${table}; drop table main.${table}`,
    )
  for (const { sql } of fresh
    .prepare(
      `select sql from sqlite_schema where sql is not null and tbl_name in ('${TABLES.join("', '")}') order by rowid`,
    )
    .all())
    database.exec(String(sql))
  for (const [table, source] of Object.entries(rows)) {
    const columns = fresh.prepare(`select name from pragma_table_info('${table}')`).all()
    const names = columns.map(({ name }) => String(name)).join(', ')
    database.exec(`insert into main.${table} (${names}) select ${names} from (${source})`)
  }
  database.exec(
    `drop table session_id_key; drop table session_old_id;
    drop table webhook_endpoint; drop table webhook_delivery; drop table receipt; drop table receipt_log; drop table receipt_log_tile; alter table tenant drop column notifies;
    alter table pairwise_subject drop column inbox_paused_until; alter table pairwise_subject drop column inbox_reports;
    delete from migration where number in (${AGAIN.join(', ')})`,
  )
}

function oldIds(file: string): number {
  using database = new DatabaseSync(file, { readOnly: true })
  return Number(database.prepare('select count(*) as rows from session_old_id').get()?.rows)
}

test('continues sessions with random ids after the migration, and purges the table of old ids a day later', async () => {
  await using h = await harness()
  const idempotent = async () =>
    (
      await h.api('POST', '/sessions', {
        token: h.shop.server,
        headers: { 'idempotency-key': 'before' },
        body: { workflow: 'credit_application' },
      })
    ).body
  const [pending, again] = [await h.create(), await idempotent()]
  const claimed = await h.create()
  const [phone, other] = [await h.register(), await h.register()]
  await h.claim(phone, claimed)
  await h.service.store.write((tables) =>
    tables.sessions.countFailure(pending.id as SessionId, other.device_id as never),
  )
  const { session: bonded } = await h.reach('bonded')
  const killed = await h.create()
  await h.kill(killed)
  const timelineOf = async ({ id }: { id: string }) =>
    (await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })).body
  const sessions = [pending, again, claimed, bonded, killed]
  const seen = async () =>
    Promise.all(
      sessions.map(async (session) => [(await h.get(session)).body, await timelineOf(session)]),
    )
  const before = await seen()

  downgrade(h.databaseFile)
  await h.restart()
  assert.equal(oldIds(h.databaseFile), sessions.length)
  assert.deepEqual(await seen(), before)
  assert.equal((await idempotent()).id, again.id)
  assert.equal(
    await h.service.store.write((tables) =>
      tables.sessions.countFailure(pending.id as SessionId, other.device_id as never),
    ),
    2,
  )
  assert.equal((await h.attest(phone, await h.view(phone, claimed))).status, 200)
  assert.equal((await h.complete(claimed)).status, 200)
  assert.equal((await h.complete(bonded)).status, 200)
  assert.equal((await h.kill(again)).status, 204)
  assert.deepEqual(
    (await timelineOf(claimed)).entries.map(({ seq }: { seq: number }) => seq),
    [1, 2, 3, 4, 5],
  )
  const fresh = await h.create()

  // Maintenance stores the expiry of the pending session, then purges all of them.
  h.clock.advance(DAY_MS - 1)
  await h.restart()
  assert.equal(oldIds(h.databaseFile), sessions.length)
  assert.equal((await timelineOf(claimed)).entries.length, 5)
  await h.service.store.write(function* (tables) {
    const found = yield* tables.sessions.find(pending.id as SessionId)
    assert.ok(found)
    yield* tables.sessions.move(found, { from: ['pending'], to: 'expired' }, { now: h.clock.now() })
  })
  h.clock.advance(DAY_MS)
  while ((await purgeSessions(h.service)).done > 0);
  assert.equal(oldIds(h.databaseFile), 0)
  assert.equal((await h.get(fresh)).status, 404)
  const newest = await h.create()
  await purgeSessions(h.service)
  assert.equal((await h.get(newest)).status, 200)
})

test('a migration that fails halfway leaves the old schema and its rows', async () => {
  await using h = await harness()
  await h.create()
  downgrade(h.databaseFile)
  using database = new DatabaseSync(h.databaseFile)
  const contents = () => [
    database.prepare('select name, sql from sqlite_schema order by name').all(),
    database.prepare('select id from session').all(),
    database.prepare('select session_id, seq from session_event').all(),
  ]
  // The last table that the step creates exists already.
  database.exec('create table keyed_device (id text)')
  const before = contents()
  assert.throws(() => migrate(h.databaseFile, 0), /keyed_device/)
  assert.deepEqual(contents(), before)
  database.exec('drop table keyed_device')
  assert.equal(migrate(h.databaseFile, 0)[0], STEP)
  assert.equal(oldIds(h.databaseFile), 1)
})
