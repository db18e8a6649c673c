import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate } from '../src/migrations/migrate.ts'
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
