import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError, type StoreFailure } from '@bonded/core/ports/store'
import { asStoreError } from '@bonded/store/postgres/postgres-errors'
import { explain } from '../../src/program/explain.ts'

const WHERE = 'bonded at db.example'

/** What an operator reads after an error of PostgreSQL with this SQLSTATE. */
function explained(code: string, message: string): string {
  const cause = Object.assign(new Error(message), { code })
  return explain(asStoreError(cause, { to: 'write', where: WHERE })).message
}

test('a lock on PostgreSQL is not explained as one on a file', () => {
  const text = explained('55P03', 'canceling statement due to lock timeout')
  assert.match(
    text,
    /on bonded at db\.example .*lock timeout.* Nothing was changed\..*pg_blocking_pids/,
  )
  const ofFile = new StoreError('locked', { kind: 'locked', where: 'bonded.db' })
  assert.match(explain(ofFile).message, /^bonded\.db is locked: .*Close the file there/)
})

test('no failure of PostgreSQL has the remedy of a file', () => {
  for (const code of [
    '08006',
    '25006',
    '28P01',
    '40001',
    '53300',
    '53100',
    '55P03',
    '57014',
    '58030',
  ])
    assert.doesNotMatch(explained(code, 'failed'), /file there|this account|SQLite|sqlite3/, code)
  assert.doesNotMatch(explained('XX001', 'invalid page'), /sqlite3/)
})

test('each failure is explained where the database is a server, too', () => {
  const kinds: readonly StoreFailure[] = ['locked', 'read_only', 'damaged', 'input_output', 'full']
  for (const kind of kinds) {
    const failure = new StoreError('failed', { kind, where: WHERE, isServer: true })
    assert.ok(explain(failure).message.includes(WHERE), kind)
  }
})

test('a host whose addresses all fail is explained with each of them', () => {
  const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`)
  const failures = [refused('::1:5432'), refused('127.0.0.1:5432')]
  const cause = Object.assign(new AggregateError(failures, ''), { code: 'ECONNREFUSED' })
  const text = explain(asStoreError(cause, { to: 'read', where: WHERE })).message
  assert.match(text, /cannot be reached \(.*ECONNREFUSED ::1:5432.*127\.0\.0\.1:5432\)/)
})
