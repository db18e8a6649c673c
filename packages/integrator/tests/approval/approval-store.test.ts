import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { memoryApprovalStore, sqliteApprovalStore } from '../../src/approval/approval.ts'
import { lockedWithoutWaiting } from '../locked-sqlite.ts'
import { approvalStoreSuite } from '../../src/approval/approval-store-suite.ts'

for (const { name, run } of approvalStoreSuite(memoryApprovalStore)) test(`memory: ${name}`, run)

const openSqlite = () => sqliteApprovalStore(new DatabaseSync(':memory:'))
for (const { name, run } of approvalStoreSuite(openSqlite)) test(`sqlite: ${name}`, run)

test('sqlite: refuses a connection whose commits do not wait for the disk', () => {
  const db = new DatabaseSync(':memory:')
  db.exec('pragma synchronous = normal')
  assert.throws(() => sqliteApprovalStore(db), {
    code: 'invalid_configuration',
    message: /synchronous = full/,
  })
})

const ROW = {
  data: '{}',
  state: 'waiting',
  changed_at: 1,
  expires_at: 2,
  lookup: 'digest',
} as const

test('sqlite: waits for another process from its first statement', () => {
  sqliteApprovalStore(lockedWithoutWaiting())
})

test('sqlite: moves no row within an open transaction, whose rollback would undo it', async () => {
  const db = new DatabaseSync(':memory:')
  const store = sqliteApprovalStore(db)
  await store.put({ ...ROW, id: 'a' })
  db.exec('begin')
  await assert.rejects(store.move('a', 'waiting', 'running', 3), /within a transaction/)
  db.exec('commit')
  assert.equal((await store.find('a'))?.state, 'waiting')
})

test('sqlite: a change that cannot be committed fails, and leaves nothing', async () => {
  const db = new DatabaseSync(':memory:')
  const store = sqliteApprovalStore(db)
  await store.put({ ...ROW, id: 'a' })
  // SQLite checks a deferred key with the commit, which then fails as on a full disk.
  db.exec(`pragma foreign_keys = on; create table parent (id primary key);
    create table child (id references parent deferrable initially deferred)`)
  const { name } = db
    .prepare("select name from sqlite_schema where type = 'table' and name like '%approval%'")
    .get({}) as { name: string }
  for (const change of ['insert', 'update'])
    db.exec(`create trigger fail_${change} after ${change} on ${name}
      begin insert into child values (1); end`)
  await assert.rejects(store.put({ ...ROW, id: 'b' }), /FOREIGN KEY/)
  await assert.rejects(store.move('a', 'waiting', 'running', 3), /FOREIGN KEY/)
  assert.equal(await store.find('b'), undefined)
  assert.equal((await store.find('a'))?.state, 'waiting')
})
