import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { migrate, MigrationError, migrationStates } from '../../src/migrations/migrate.ts'
import { NEXT_STEPS, STORED_ROWS, withSteps } from './next-steps.ts'

const KILLED = join(import.meta.dirname, 'killed-migration.ts')

/** A file with the schema of this version, two tenants, and a session. */
function storedFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-migrations-')), 'b.db')
  migrate(file, 0)
  using database = new DatabaseSync(file)
  database.exec(STORED_ROWS)
  return file
}

/** The whole schema, the rows that the steps change, and the steps that the file has. */
function contentsOf(file: string): unknown {
  using database = new DatabaseSync(file, { readOnly: true })
  return [
    'select name, sql from sqlite_schema order by name',
    'select * from session',
    'select * from tenant order by id',
    'select * from migration',
  ].map((query) => database.prepare(query).all())
}

test('a next version lists its steps as pending, and applies both to the stored rows', () => {
  const file = storedFile()
  using next = withSteps(NEXT_STEPS)
  const pending = () =>
    migrationStates(file)
      .filter(({ appliedAt }) => appliedAt === null)
      .map(({ number, name }) => `${number} ${name}`)
  const before = contentsOf(file)
  assert.deepEqual(pending(), next.names)
  assert.deepEqual(contentsOf(file), before)
  assert.deepEqual(migrate(file, 7), next.names)
  assert.deepEqual([pending(), migrate(file, 8)], [[], []])
  using database = new DatabaseSync(file, { readOnly: true })
  const values = (query: string) => database.prepare(query).all().map(Object.values)
  assert.deepEqual(values('select id, label from session'), [['sess_a', 'pay/send']])
  assert.deepEqual(values('select * from label_color'), [['pay/send', 'gray']])
  assert.deepEqual(values('select distinct name = upper(name) from tenant'), [[1]])
  assert.deepEqual(values('select number, applied_at from migration'), [
    [1, 0],
    [2, 7],
    [3, 7],
  ])
})

test('an earlier version refuses the file of a later one, and changes nothing', () => {
  const file = storedFile()
  {
    using next = withSteps(NEXT_STEPS)
    assert.deepEqual(migrate(file, 0), next.names)
  }
  const before = contentsOf(file)
  assert.throws(() => migrate(file, 0), MigrationError)
  assert.throws(() => migrationStates(file), /step 2 \(labels of sessions\).*a newer version/)
  assert.deepEqual(contentsOf(file), before)
})

test('a migration that fails at its end leaves the old schema and its rows', () => {
  const file = storedFile()
  const before = contentsOf(file)
  const [expanding, rewriting] = NEXT_STEPS
  const statements = [...rewriting.statements, 'drop table not_there']
  const broken = withSteps([expanding, { ...rewriting, statements }])
  assert.throws(() => migrate(file, 0), /not_there/)
  broken[Symbol.dispose]()
  assert.deepEqual(contentsOf(file), before)
})

test('kill -9 within a step leaves the old schema and its rows, and the next start continues', () => {
  const file = storedFile()
  const before = contentsOf(file)
  const { signal, stderr } = spawnSync(
    process.execPath,
    ['--conditions=@bonded/source', KILLED, file],
    { encoding: 'utf8' },
  )
  assert.equal(signal, 'SIGKILL', stderr)
  assert.deepEqual(contentsOf(file), before)
  using next = withSteps(NEXT_STEPS)
  assert.deepEqual(migrate(file, 0), next.names)
})
