import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { SQLITE } from '../../../../store/src/dialect.ts'
import { deviceTable } from '../../../../store/src/tables/device-table.ts'
import { idempotencyTable } from '../../../../store/src/tables/idempotency-table.ts'
import { migrate } from '../../../../store/src/migrations/migrate.ts'
import { SessionKeys } from '../../../../store/src/tables/session-keys.ts'
import { sessionTable } from '../../../../store/src/tables/session-table.ts'
import type { Statement } from '../../../../store/src/statement.ts'
import type { Session } from '../../../../core/src/domain/session.ts'
import { MOVES } from '../../../../core/src/protocol/states.ts'
import { BATCH_SESSIONS } from '../../../../core/src/operations/maintenance/batch.ts'
import { expireSessions } from '../../../../core/src/operations/maintenance/expire-sessions.ts'
import { purgeSessions } from '../../../../core/src/operations/maintenance/purge-sessions.ts'
import { noMeter } from '../../../../core/src/ports/meter.ts'
import type { Work } from '../../../../core/src/ports/work.ts'
import { dueBy } from '../../../../store/tests/tables/table-operations.ts'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const TABLES = ['session', 'session_event', 'session_device', 'idempotency', 'used_challenge']

/** The number of rows of each table. */
function rowCounts({ databaseFile }: Harness): Record<string, number> {
  using database = new DatabaseSync(databaseFile)
  return Object.fromEntries(
    TABLES.map((table) => [
      table,
      Number(database.prepare(`select count(*) as rows from ${table}`).get()?.rows),
    ]),
  )
}

/** Copies a session with all of its rows to create a backlog. */
function multiply({ databaseFile }: Harness, id: string, count: number): void {
  using database = new DatabaseSync(databaseFile)
  const columns = (table: string) =>
    database
      .prepare(`select name from pragma_table_info(?) where name not in ('id', 'session_key')`)
      .all(table)
      .map(({ name }) => name)
      .join(', ')
  database.exec('begin')
  for (let index = 0; index < count; index++) {
    database.exec(
      `insert into session (id, session_key, ${columns('session')}) select 'copy-${index}', ${index}, ${columns('session')} from session where id = '${id}'`,
    )
    database.exec(
      `insert into session_event (session_key, ${columns('session_event')}) select ${index}, ${columns('session_event')} from session_event
         where session_key = (select session_key from session where id = '${id}')`,
    )
  }
  database.exec('commit')
}

/** Long enough for every maintenance task to run once. */
const ROUND_MS = 60_000

/** Runs the maintenance that is due and its commits. */
async function turn(h: Harness, ms: number): Promise<void> {
  h.clock.advance(ms)
  // Commits with what the maintenance has begun, however long the store gathers writes.
  await h.service.store.write(function* () {})
  for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate)
}

test('serves an ended session for 60 minutes and its timeline for 24 hours, then purges all of its rows', async () => {
  await using h = await harness()
  const before = rowCounts(h)
  const created = await h.api('POST', '/sessions', {
    token: h.shop.server,
    headers: { 'idempotency-key': 'once' },
    body: { workflow: 'credit_application' },
  })
  const session = created.body
  await h.service.store.write((tables) =>
    tables.sessions.countFailure(session.id, 'dev_x' as never),
  )
  await h.kill(session)
  const timeline = async () =>
    (await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })).status

  h.clock.advance(HOUR_MS - 1)
  assert.equal((await h.get(session)).status, 200)
  h.clock.advance(1)
  assert.deepEqual([(await h.get(session)).status, await timeline()], [404, 200])

  h.clock.advance(DAY_MS - HOUR_MS - 1)
  await purgeSessions(h.service)
  assert.equal(await timeline(), 200)
  h.clock.advance(1)
  await purgeSessions(h.service)
  assert.equal(await timeline(), 404)
  assert.deepEqual(rowCounts(h), before)
})

test('never purges a live session, and purges an expired one 24 hours after its end', async () => {
  await using h = await harness()
  const session = await h.create()
  h.clock.advance(300_000 + DAY_MS)
  assert.equal((await purgeSessions(h.service)).done, 0)
  await expireSessions(h.service)
  assert.equal((await purgeSessions(h.service)).done, 1)
  assert.equal(
    await h.service.store.read((tables) => tables.sessions.find(session.id as SessionId)),
    undefined,
  )
})

test('purges no rows of a session that began in the same millisecond', async () => {
  await using h = await harness()
  const create = async (key: string) =>
    (
      await h.api('POST', '/sessions', {
        token: h.shop.server,
        headers: { 'idempotency-key': key },
        body: { workflow: 'credit_application' },
      })
    ).body
  const [doomed, neighbour] = [await create('doomed'), await create('neighbour')]
  await h.service.store.write((tables) =>
    tables.sessions.countFailure(neighbour.id, 'dev_x' as never),
  )
  const rows = rowCounts(h)
  await h.kill(doomed)
  h.clock.advance(DAY_MS)
  assert.deepEqual(await purgeSessions(h.service), { done: 1, more: false })
  assert.deepEqual(rowCounts(h), { ...rows, session: 1, session_event: 1, idempotency: 0 })
  assert.deepEqual(
    (await h.service.store.read((tables) => tables.sessions.timeline(neighbour.id))).map(
      ({ kind }) => kind,
    ),
    ['created'],
  )
})

test('keeps an Idempotency-Key while its session is readable, and purges it before the session', async () => {
  const longest = { actions: ['a'], session_ttl_seconds: 900, bonded_ttl_seconds: 900 }
  await using h = await harness({ workflows: [{ name: 'longest', ...longest }] })
  const create = async () =>
    (
      await h.api('POST', '/sessions', {
        token: h.shop.server,
        headers: { 'idempotency-key': 'once' },
        body: { workflow: 'longest' },
      })
    ).body
  const created = await create()
  // The longest life of a session: both lifetimes, and the hour after its end.
  h.clock.advance(2 * 900_000 + HOUR_MS - 1)
  await purgeSessions(h.service)
  assert.equal(rowCounts(h).idempotency, 1)
  h.clock.advance(HOUR_MS + 1)
  await purgeSessions(h.service)
  assert.equal(rowCounts(h).idempotency, 0)
  assert.equal(rowCounts(h).session, 1)
  assert.notEqual((await create()).id, created.id)
})

test('keeps an Idempotency-Key that a newer session uses when the older one is purged', async () => {
  await using h = await harness()
  const create = async () =>
    (
      await h.api('POST', '/sessions', {
        token: h.shop.server,
        headers: { 'idempotency-key': 'again' },
        body: { workflow: 'credit_application' },
      })
    ).body
  const older = await create()
  await h.kill(older)
  h.clock.advance(DAY_MS - 1)
  const newer = await create()
  assert.notEqual(newer.id, older.id)
  h.clock.advance(1)
  assert.equal((await purgeSessions(h.service)).done, 1)
  assert.equal((await create()).id, newer.id)
})

test('purges a large backlog in bounded batches over later turns', async () => {
  const worked: number[] = []
  await using h = await harness({
    meter: { ...noMeter, worked: (work, done) => void (work === 'purge' && worked.push(done)) },
  })
  const { body: session } = await h.api('POST', '/sessions', {
    token: h.shop.server,
    headers: { 'idempotency-key': 'k' },
    body: { workflow: 'credit_application' },
  })
  await h.kill(session)
  const backlog = BATCH_SESSIONS * 4 + 7
  multiply(h, session.id, backlog - 1)
  const lines = h.lines.length
  await turn(h, DAY_MS)
  await turn(h, ROUND_MS)
  // A loss of one of its sessions makes this loop run until the test's time limit ends it.
  while (worked.reduce((sum, done) => sum + done, 0) < backlog) await turn(h, 20)
  assert.ok(worked.every((done) => done <= BATCH_SESSIONS))
  assert.deepEqual(rowCounts(h), {
    session: 0,
    session_event: 0,
    session_device: 0,
    idempotency: 0,
    used_challenge: 0,
  })
  // Another connection stored the backlog, which has a separate log line.
  const logged = h.lines.slice(lines).map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    logged
      .filter(({ work }) => work !== 'publish_external')
      .map(({ msg, work, sessions, batches }) => [msg, work, sessions, batches]),
    [['background', 'purge', backlog, 5]],
  )
})

test('responds to a request before the backlog is purged', async () => {
  const purged: number[] = []
  await using h = await harness({
    meter: {
      ...noMeter,
      worked: (work, done) => void (work === 'purge' && done > 0 && purged.push(done)),
    },
  })
  const session = await h.create()
  await h.kill(session)
  multiply(h, session.id, BATCH_SESSIONS * 3)
  await turn(h, DAY_MS)
  // How many turns a batch takes depends on how the store gathers writes, and the next round begins
  // only after the end of the one before. A turn runs at most one batch.
  while (purged.length === 0) await turn(h, ROUND_MS)
  await h.create()
  assert.equal(rowCounts(h).session, BATCH_SESSIONS * 2 + 2)
})

test('continues an interrupted purge after the next start', async () => {
  await using h = await harness()
  const session = await h.create()
  await h.kill(session)
  multiply(h, session.id, BATCH_SESSIONS * 2)
  h.clock.advance(DAY_MS)
  const first = await purgeSessions(h.service)
  assert.deepEqual(first, { done: BATCH_SESSIONS, more: true })
  // The next process has only the store.
  const next = { ...h.service, startedAt: h.clock.now() }
  assert.deepEqual(await purgeSessions(next), { done: BATCH_SESSIONS, more: true })
  assert.deepEqual(await purgeSessions(next), { done: 1, more: false })
  assert.equal(rowCounts(h).session_event, 0)
})

test('purges used challenges in bounded batches once they expire', async () => {
  await using h = await harness()
  await h.register()
  assert.equal(rowCounts(h).used_challenge, 1)
  h.clock.advance(299_999)
  await purgeSessions(h.service)
  assert.equal(rowCounts(h).used_challenge, 1)
  h.clock.advance(1)
  await purgeSessions(h.service)
  assert.equal(rowCounts(h).used_challenge, 0)
  const expiresAt = h.clock.now()
  await h.service.store.write(function* (tables) {
    for (let index = 0; index < 3; index++)
      yield* tables.devices.useChallenge(`c${index}`, expiresAt)
  })
  assert.equal(
    await h.service.store.write((tables) => tables.devices.purgeChallenges(expiresAt, 2)),
    2,
  )
})

test('never scans a whole table in the sweeper, retention or readiness check', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-plan-')), 'b.db')
  migrate(file, 0)
  using database = new DatabaseSync(file)
  const cipher = { encrypt: (block: Uint8Array) => block, decrypt: (block: Uint8Array) => block }
  const sessionKeys = new SessionKeys(cipher)
  const sessions = sessionTable({
    notify: () => {},
    cause: () => undefined,
    sessionKeys,
    dialect: SQLITE,
    mayWrite: true,
  })
  const plansOf = (work: Work<unknown>, response: object[] | number): string[] => {
    const plans: string[] = []
    for (let step = work.next(); step.done !== true; step = work.next(response)) {
      const { text } = step.value as Statement
      const details = database
        .prepare(`explain query plan ${text.replaceAll(/\$\d+/g, 'null')}`)
        .all()
      plans.push(...details.map(({ detail }) => String(detail)))
    }
    return plans
  }
  const ids = [{ id: 'sess_x', session_key: 1, policy: '{}' }]
  const overdue = {
    id: 'sess_x',
    state: 'pending',
    seq: 1,
    validAssertions: 0,
    expiresAt: 0,
    endedAt: null,
  } as Session
  const planned = {
    overdue: plansOf(sessions.overdue(0, 1), ids),
    expire: plansOf(sessions.move(overdue, MOVES.expire, { now: 0 }), 1),
    forget: plansOf(sessions.purge(dueBy(0, 1)), ids),
    keys: plansOf(idempotencyTable(SQLITE).purge(0, 1), [{}]),
    challenges: plansOf(
      deviceTable({ cause: () => undefined, dialect: SQLITE }).purgeChallenges(0, 1),
      [{}],
    ),
    latest: plansOf(sessions.latest(), []),
  }
  for (const [name, plans] of Object.entries(planned)) {
    assert.ok(plans.length > 0, name)
    for (const plan of plans) {
      // A bounded index scan is allowed; a sort is not.
      assert.ok(
        /^SCAN tenant$|USING (COVERING |INTEGER )?(INDEX|PRIMARY KEY)|(LIST|SCALAR) SUBQUERY/.test(
          plan,
        ),
        `${name}: ${plan}`,
      )
      assert.doesNotMatch(plan, /TEMP B-TREE/, name)
    }
  }
  assert.equal(planned.forget.length, 5)
})
