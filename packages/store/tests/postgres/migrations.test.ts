import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Step } from '../../src/migrations/migrations.ts'
import { withConnections } from '../../src/postgres/open-postgres.ts'
import { migratePostgres, postgresMigrationStates } from '../../src/postgres/postgres-migrate.ts'
import { NEXT_STEPS, STORED_ROWS, withSteps } from '../migrations/next-steps.ts'
import { openConnection, runSql } from '../servers/postgres.ts'
import { migratedDatabase, settingsOf } from '../servers/test-database.ts'

const [, REWRITING] = NEXT_STEPS
const KILLED = join(import.meta.dirname, '../migrations/killed-migration.ts')

/** A database with the schema of this version, two tenants, and a session. */
async function storedDatabase() {
  const database = await migratedDatabase()
  const { url } = database
  await runSql(url, STORED_ROWS)
  const migrate = () =>
    withConnections(settingsOf(url), (connections) => migratePostgres(connections, 0))
  const pending = async () => {
    const states = await withConnections(settingsOf(url), postgresMigrationStates)
    const missing = states.filter(({ appliedAt }) => appliedAt === null)
    return missing.map(({ number, name }) => `${number} ${name}`)
  }
  /** The columns of the tables that the steps change, their rows, and the stored steps. */
  const contents = () =>
    Promise.all(
      [
        `select table_name, column_name from information_schema.columns
         where table_schema = current_schema() order by 1, 2`,
        'select * from session',
        'select * from tenant order by id',
        'select * from migration',
      ].map((query) => runSql(url, query)),
    )
  return { url, migrate, pending, contents, [Symbol.asyncDispose]: () => database.drop() }
}

test('a next version lists its steps as pending, and applies both to the stored rows', async () => {
  await using own = await storedDatabase()
  using next = withSteps(NEXT_STEPS)
  const before = await own.contents()
  assert.deepEqual(await own.pending(), next.names)
  assert.deepEqual(await own.contents(), before)
  assert.deepEqual(await own.migrate(), next.names)
  assert.deepEqual([await own.pending(), await own.migrate()], [[], []])
  const sql = (text: string) => runSql(own.url, text)
  assert.deepEqual(await sql('select id, label from session'), [
    { id: 'sess_a', label: 'pay/send' },
  ])
  assert.deepEqual(await sql('select * from label_color'), [{ label: 'pay/send', color: 'gray' }])
  assert.deepEqual(await sql('select from tenant where name <> upper(name)'), [])
})

test('kill -9 within a step leaves the old schema and its rows, and the next start continues', async () => {
  await using own = await storedDatabase()
  const before = await own.contents()
  const killed = spawn(process.execPath, ['--conditions=@bonded/source', KILLED, own.url], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [, signal] = await once(killed, 'exit')
  assert.equal(signal, 'SIGKILL')
  assert.deepEqual(await own.contents(), before)
  using next = withSteps(NEXT_STEPS)
  assert.deepEqual(await own.migrate(), next.names)
})

const ONLY_REWRITING: Step = {
  ...REWRITING,
  postgres: ['update session set hint = null', 'update tenant set name = upper(name)'],
}
for (const [kind, steps] of [
  ['expands the schema', NEXT_STEPS],
  ['only rewrites rows', [ONLY_REWRITING]],
] as const)
  test(`calls go on while a migration that ${kind} waits for a table that another transaction uses`, async () => {
    await using own = await storedDatabase()
    using next = withSteps(steps)
    await using call = await openConnection(own.url)
    await call.run(`begin; update tenant set created_at = 1`)
    const migrated = own.migrate()
    let isMigrated = false
    void migrated.finally(() => (isMigrated = true))
    // The migration asks for its locks many times meanwhile, and holds none of the other table.
    for (let turn = 0; turn < 20; turn++) {
      await runSql(own.url, `set lock_timeout = '10s'; update session set seq = seq + 1`)
      await call.run('select 1 from session')
    }
    assert.ok(!isMigrated)
    await call.run('commit')
    assert.deepEqual(await migrated, next.names)
  })
