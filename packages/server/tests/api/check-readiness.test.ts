import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { localBus } from '../../src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../src/adapters/keys/keyring.ts'
import { migrate } from '../../../store/src/migrations/migrate.ts'
import { SqliteStore } from '../../../store/src/sqlite/sqlite-store.ts'
import type { Session } from '../../../core/src/domain/session.ts'
import { harness, ROOT_KEY } from '../../../../tests/harness/harness.ts'

/** A service, and another connection to its database. */
async function withDatabase() {
  const h = await harness()
  const database = new DatabaseSync(h.databaseFile)
  return {
    h,
    database,
    async ready() {
      const { status, body } = await h.call('GET', '/health/ready')
      return status === 200
        ? [200, body.status]
        : [status, body.error.code, body.error.reason, body.error.unready]
    },
    async [Symbol.asyncDispose]() {
      database.close()
      await h[Symbol.asyncDispose]()
    },
  }
}

const unready = (...words: string[]) => [503, 'unavailable', 'not_ready', words]

test('reports ready when no check fails', async () => {
  await using s = await withDatabase()
  assert.deepEqual(await s.ready(), [200, 'ready'])
  await s.h.create()
  assert.deepEqual(await s.ready(), [200, 'ready'])
})

test('reports not ready, with the version, when the schema is newer or lacks a migration', async () => {
  await using s = await withDatabase()
  s.database.exec(`insert into migration values (99, 'from the future', 'x', 0)`)
  assert.deepEqual(await s.ready(), unready('migrations_unknown'))
  s.database.exec('delete from migration')
  assert.deepEqual(await s.ready(), unready('migrations_pending'))
})

test('reports not ready while the database cannot be written, and still reads', async () => {
  await using s = await withDatabase()
  const session = await s.h.create()
  s.database.exec('begin immediate')
  assert.equal((await s.h.kill(session)).status, 503)
  assert.deepEqual(await s.ready(), unready('store_unwritable'))
  assert.equal((await s.h.call('GET', '/health/alive')).status, 200)
  s.database.exec('rollback')
  await s.h.kill(session)
  assert.deepEqual(await s.ready(), [200, 'ready'])
})

test('reports not ready, and stays alive, while the database cannot be read', async () => {
  await using s = await withDatabase()
  s.database.exec(
    'alter table migration rename to elsewhere; alter table session rename to nowhere',
  )
  assert.deepEqual(await s.ready(), unready('store_unreadable'))
  assert.equal((await s.h.call('GET', '/health/alive')).status, 200)
})

test('reports not ready when a live session’s root key is missing, unless the session predates the start', async () => {
  await using s = await withDatabase()
  const { id } = await s.h.create()
  s.database.prepare(`update session set root_key_id = 'k9' where id = ?`).run(id)
  assert.deepEqual(await s.ready(), unready('keys_unknown'))
  s.database.prepare('update session set created_at = created_at - 1 where id = ?').run(id)
  assert.deepEqual(await s.ready(), [200, 'ready'])
})

test('a session that waits in an inbox for a day hides no newer one', async () => {
  await using s = await withDatabase()
  const waiting = await s.h.create()
  const change = s.database.prepare('update session set expires_at = expires_at + ? where id = ?')
  change.run(86_400_000, waiting.id)
  s.h.clock.advance(1)
  const { id } = await s.h.create()
  s.database.prepare(`update session set root_key_id = 'k9' where id = ?`).run(id)
  assert.deepEqual(await s.ready(), unready('keys_unknown'))
})

test('reports not ready when the clock is more than a second behind a stored session', async () => {
  await using s = await withDatabase()
  const { id } = await s.h.create()
  const ahead = s.database.prepare('update session set created_at = ? where id = ?')
  ahead.run(s.h.clock.now() + 1_000, id)
  assert.deepEqual(await s.ready(), [200, 'ready'])
  ahead.run(s.h.clock.now() + 1_001, id)
  assert.deepEqual(await s.ready(), unready('clock_behind'))
})

test('reports all failing checks at once', async () => {
  await using s = await withDatabase()
  const { id } = await s.h.create()
  const session = { rootKeyId: 'k9', createdAt: s.h.clock.now() + 5_000 } satisfies Partial<Session>
  s.database
    .prepare('update session set created_at = ?, root_key_id = ? where id = ?')
    .run(session.createdAt, session.rootKeyId, id)
  s.database.exec(`insert into migration values (99, 'from the future', 'x', 0)`)
  assert.deepEqual(await s.ready(), unready('migrations_unknown', 'keys_unknown', 'clock_behind'))
})

test('treats a disk with less than 64 MiB, or of unknown free space, as full', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-disk-')), 'b.db')
  migrate(file, 0)
  for (const [freeBytes, health] of [
    [async () => 64 * 1024 * 1024, []],
    [async () => 64 * 1024 * 1024 - 1, ['disk_full']],
    [async () => Promise.reject(new Error('no answer')), ['disk_full']],
  ] as const) {
    await using store = new SqliteStore(file, {
      bus: localBus(),
      idKeys: keyringOf([ROOT_KEY]).idKeys,
      freeBytes,
    })
    assert.deepEqual(await store.health(), health)
  }
})
