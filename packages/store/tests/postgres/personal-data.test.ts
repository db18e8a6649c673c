import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase } from '../servers/test-database.ts'
import { declaredColumns, rejectUndeclared } from '../declared-columns.ts'

test('declares exactly the columns of PostgreSQL', async () => {
  const own = await postgresDatabase()
  await own.migrated(0)
  const found = await runSql(
    own.url,
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = current_schema()`,
  )
  await own.drop()
  const stored = found.map(({ name }) => String(name)).toSorted()
  rejectUndeclared(stored)
  assert.deepEqual(declaredColumns().toSorted(), stored)
})
