import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { memoryPendingStore, type PendingStore, Secret } from '../src/index.ts'
import { pendingStoreSuite } from '../src/pending/pending-store-suite.ts'
import { sqlitePendingStore } from '../src/pending/sqlite.ts'
import { lockedWithoutWaiting } from './locked-sqlite.ts'

for (const { name, run } of pendingStoreSuite(memoryPendingStore)) test(`memory: ${name}`, run)

const openSqlite = () => sqlitePendingStore(new DatabaseSync(':memory:'))
for (const { name, run } of pendingStoreSuite(openSqlite)) test(`sqlite: ${name}`, run)

const ROW = {
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
const USE = { session_id: ROW.session_id, owner: ROW.owner, used_at: '2026-11-21T09:31:00.000Z' }
const addForm = (db: DatabaseSync) => db.exec("insert into form values ('A-1')")
const countForms = (db: DatabaseSync) => db.prepare('select count(*) as n from form').get()?.['n']

/** A database with the table of an action and one row, and stores of two processes. */
async function twoProcesses() {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-pending-'))
  const [db, other] = [1, 2].map(() => new DatabaseSync(join(folder, 'bank.db'))) as [
    DatabaseSync,
    DatabaseSync,
  ]
  db.exec('create table form (id text)')
  const stores = [sqlitePendingStore(db), sqlitePendingStore(other)] as const
  await stores[0].put(ROW)
  const useIn = (store: (typeof stores)[0]) =>
    store.transaction(async (tx) => {
      tx.onCommit(addForm)
      return store.use(USE, tx)
    })
  return {
    db,
    stores,
    useIn,
    [Symbol.dispose]() {
      db.close()
      other.close()
      rmSync(folder, { recursive: true })
    },
  }
}

test('sqlite: waits for another process from its first statement', () => {
  sqlitePendingStore(lockedWithoutWaiting())
})

test('sqlite: the action and the use of the bond are one transaction', async () => {
  using p = await twoProcesses()
  const [store] = p.stores
  const failing = (write: (db: DatabaseSync) => unknown, error?: Error) =>
    store.transaction(async (tx) => {
      assert.equal(await store.use(USE, tx), true)
      tx.onCommit(addForm)
      tx.onCommit(write)
      if (error !== undefined) throw error
    })
  await assert.rejects(
    failing(() => {}, new Error('the action failed')),
    /the action failed/,
  )
  await assert.rejects(
    failing((db) => db.exec('insert into missing values (1)')),
    /no such table/,
  )
  await assert.rejects(
    failing(async () => {}),
    { code: 'action_not_committed', message: /returned a promise/ },
  )
  assert.equal(countForms(p.db), 0)
  assert.equal((await store.find(ROW.session_id))?.used_at, null)
  assert.equal(await p.useIn(store), true)
  assert.equal(countForms(p.db), 1)
})

test('sqlite: a bond whose action runs in another process cannot be used', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.parse(ROW.created_at) })
  using p = await twoProcesses()
  const [first, second] = p.stores
  const ended = Promise.withResolvers<void>()
  const action = first.transaction(async (tx) => {
    assert.equal(await first.use(USE, tx), true)
    await ended.promise
  })
  // A process that runs renews its claim, for as long as its action takes.
  for (let minutes = 0; minutes < 5; minutes++) {
    t.mock.timers.tick(60_000)
    assert.equal(await second.transaction((tx) => second.use(USE, tx)), false)
  }
  ended.reject(new Error('the action failed'))
  await assert.rejects(action, /the action failed/)
  assert.equal(await p.useIn(second), true)
  assert.equal(await p.useIn(first), false)
})

test('sqlite: the bond of a process that stood still for a minute can be used, but once', async (t) => {
  // Without its timers, the first process renews nothing.
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse(ROW.created_at) })
  using p = await twoProcesses()
  const [first, second] = p.stores
  const ended = Promise.withResolvers<void>()
  const action = first.transaction(async (tx) => {
    assert.equal(await first.use(USE, tx), true)
    tx.onCommit(addForm)
    await ended.promise
  })
  t.mock.timers.setTime(Date.parse(ROW.created_at) + 60_000)
  assert.equal(await second.transaction((tx) => second.use(USE, tx)), false)
  t.mock.timers.setTime(Date.parse(ROW.created_at) + 60_001)
  assert.equal(await p.useIn(second), true)
  ended.resolve()
  await assert.rejects(action, { code: 'action_not_committed', message: /stood still/ })
  assert.equal(countForms(p.db), 1)
})

test('the suite finds a store that uses a bond twice', async () => {
  const broken = (): PendingStore => ({
    ...memoryPendingStore(),
    use: async () => true,
  })
  const checks = pendingStoreSuite(broken)
  const results = await Promise.allSettled(checks.map(({ run }) => run()))
  const failed = checks.filter((_, index) => results[index]?.status === 'rejected')
  assert.ok(failed.length >= 5, failed.map(({ name }) => name).join())
})

test('the memory store deletes rows that no caller can use, so its size is bounded', async () => {
  const store = memoryPendingStore()
  await store.put(ROW)
  await store.put({
    ...ROW,
    session_id: 'sess_soon',
    created_at: '2026-11-21T11:34:59.000Z',
    expires_at: '2026-11-21T11:40:00.000Z',
  })
  assert.ok(await store.find('sess_old'))
  await store.put({
    ...ROW,
    session_id: 'sess_later',
    created_at: '2026-11-21T11:36:00.000Z',
    expires_at: '2026-11-21T11:41:00.000Z',
  })
  assert.equal(await store.find('sess_old'), undefined)
  assert.ok(await store.find('sess_soon'))
})
