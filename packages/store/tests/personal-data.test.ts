import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate } from '../src/migrations/migrate.ts'
import { columnNames, PERSONAL_DATA } from '../src/personal-data.ts'
import { declaredColumns, rejectUndeclared } from './declared-columns.ts'

test('declares every column of SQLite, and each of them once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-columns-'))
  const file = join(folder, 'bonded.db')
  migrate(file, 0)
  const database = new DatabaseSync(file)
  const stored = database
    .prepare(
      `select t.name || '.' || c.name as name from sqlite_schema t, pragma_table_info(t.name) c
       where t.type = 'table' and t.name not like 'sqlite_%'`,
    )
    .all()
    .map(({ name }) => String(name))
  database.close()
  rmSync(folder, { recursive: true })
  rejectUndeclared(stored)
  const declared = declaredColumns()
  assert.equal(new Set(declared).size, declared.length)
})

test('names the user, the phone, or the session in each table with rows of users', () => {
  const naming = /(?:subject_id|device_id|session_id|subject_ref|session_key)$/
  const tables = Object.keys(PERSONAL_DATA).filter(
    (table) => columnNames(table).length > columnNames(table, 'kept').length,
  )
  const unnamed = tables.filter(
    (table) => !columnNames(table).some((column) => naming.test(column)),
  )
  assert.deepEqual(unnamed, [], 'export and erasure find rows by columns of these names')
})
