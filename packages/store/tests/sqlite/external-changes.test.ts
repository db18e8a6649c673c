import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { ExternalChanges } from '../../src/sqlite/external-changes.ts'
import type { Row } from '../../src/statement.ts'

/** A database of sessions and their events, which another process changes. */
function database() {
  const db = new DatabaseSync(':memory:')
  db.exec(`create table session (session_key integer primary key, id text);
    create table session_event (session_key integer, seq integer);
    insert into session values (1, 'sess_a'), (2, 'sess_b')`)
  let version = 1
  const changes = new ExternalChanges({
    run: ({ text, values }) =>
      db.prepare(text.replaceAll('$1', '?1')).all(...(values as SQLInputValue[])) as Row[],
    externalVersion: () => version,
  })
  return {
    changes,
    /** A commit of another process. */
    commit: (sql: string) => {
      db.exec(sql)
      version++
    },
  }
}

const insert = (session: number, seq: number | null) =>
  `insert into session_event values (${session}, ${seq})`
const seen = (changes: ExternalChanges) =>
  changes
    .next()
    .map(({ sessionId, seq }) => `${sessionId} ${seq}`)
    .toSorted()

test('finds the last event of each session that another process has changed, once', () => {
  const { changes, commit } = database()
  assert.deepEqual(seen(changes), [])
  commit(insert(1, 1))
  commit(insert(1, 2))
  commit(insert(2, 5))
  commit(insert(2, null))
  assert.deepEqual(seen(changes), ['sess_a 2', 'sess_b 5'])
  assert.deepEqual(seen(changes), [])
})

test('finds events whose places in the table were those of newer events, which were deleted', () => {
  const { changes, commit } = database()
  for (let seq = 1; seq <= 9; seq++) commit(insert(1, seq))
  assert.deepEqual(seen(changes), ['sess_a 9'])
  commit('delete from session_event where seq > 3')
  assert.deepEqual(seen(changes), [])
  commit(insert(2, 7))
  assert.deepEqual(seen(changes), ['sess_b 7'])
})
