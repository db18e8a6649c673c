import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import { pendingStoreSuite } from '../../../integrator/src/pending/pending-store-suite.ts'
import {
  POSTGRES_PENDING_TABLE,
  postgresJsPendingStore,
  postgresPendingStore,
} from '../../../integrator/src/pending/postgres.ts'
import { newDatabase } from '../../../../tests/harness/postgres.ts'

const url = await newDatabase()
const pool = new pg.Pool({ connectionString: url })
await pool.query(POSTGRES_PENDING_TABLE)
const sql = postgres(url)
after(async () => {
  await sql.end()
  await pool.end()
})

async function emptied<Store>(store: Store): Promise<Store> {
  await pool.query('delete from bond')
  return store
}
const openPg = () => emptied(postgresPendingStore(pool))
for (const { name, run } of pendingStoreSuite(openPg)) test(`pg: ${name}`, run)

const openPostgresJs = () => emptied(postgresJsPendingStore(sql))
for (const { name, run } of pendingStoreSuite(openPostgresJs)) test(`postgres.js: ${name}`, run)

test('postgres.js: the action and the use of the bond are one transaction', async () => {
  const store = postgresJsPendingStore(sql)
  await sql`create table form (id text)`
  const save = (tx: postgres.TransactionSql) => tx`insert into form values ('A-1') returning id`
  const failing = store.transaction(async (tx) => {
    await save(tx)
    throw new Error('the action failed')
  })
  await assert.rejects(failing, /the action failed/)
  const rows = await store.transaction(async (tx) => [...(await save(tx))])
  assert.deepEqual(rows, [{ id: 'A-1' }])
  assert.equal((await sql`select id from form`).length, 1)
})

test('pg: names an action that swallowed an error of the database', async () => {
  const swallowing = postgresPendingStore(pool).transaction((tx) =>
    tx.query('select 1 / 0').catch(() => {}),
  )
  await assert.rejects(swallowing, { code: 'action_not_committed', message: /rolled .* back/ })
})
