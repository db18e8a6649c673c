import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { memoryPendingStore, type PendingStore, Secret } from '../src/index.ts'
import { pendingStoreSuite } from '../src/pending/pending-store-suite.ts'
import { sqlitePendingStore } from '../src/pending/sqlite.ts'

for (const { name, run } of pendingStoreSuite(memoryPendingStore)) test(`memory: ${name}`, run)

const openSqlite = () => sqlitePendingStore(new DatabaseSync(':memory:'))
for (const { name, run } of pendingStoreSuite(openSqlite)) test(`sqlite: ${name}`, run)

test('sqlite: the action and the use of the bond are one transaction', async () => {
  const db = new DatabaseSync(':memory:')
  const store = sqlitePendingStore(db)
  db.exec('create table form (id text)')
  const failing = store.transaction(async (tx) => {
    tx.exec("insert into form values ('A-1')")
    throw new Error('the action failed')
  })
  await assert.rejects(failing, /the action failed/)
  assert.equal(db.prepare('select count(*) as n from form').get()?.['n'], 0)
})

test('the suite finds a store that uses a bond twice', async () => {
  const broken = (): PendingStore => ({
    ...memoryPendingStore(),
    use: async () => true,
  })
  const checks = pendingStoreSuite(broken)
  const results = await Promise.allSettled(checks.map(({ run }) => run()))
  const failed = checks.filter((_, at) => results[at]?.status === 'rejected')
  assert.ok(failed.length >= 5, failed.map(({ name }) => name).join())
})

test('the memory store deletes rows that no caller can use, so its size is bounded', async () => {
  const store = memoryPendingStore()
  const row = {
    session_id: 'sess_old',
    workflow: 'w',
    action: 'a',
    owner: 'o',
    completion_secret: new Secret('s'),
    context_digest: null,
    subject_ref: null,
    created_at: '2026-11-21T09:30:00.000Z',
    expires_at: '2026-11-21T09:35:00.000Z',
    used_at: null,
  }
  await store.put(row)
  await store.put({
    ...row,
    session_id: 'sess_soon',
    created_at: '2026-11-21T11:34:59.000Z',
    expires_at: '2026-11-21T11:40:00.000Z',
  })
  assert.ok(await store.find('sess_old'))
  await store.put({
    ...row,
    session_id: 'sess_later',
    created_at: '2026-11-21T11:36:00.000Z',
    expires_at: '2026-11-21T11:41:00.000Z',
  })
  assert.equal(await store.find('sess_old'), undefined)
  assert.ok(await store.find('sess_soon'))
})
