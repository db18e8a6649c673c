import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import { Secret } from '@bonded/contract'
import type { PendingStore } from '../../../integrator/src/pending/pending-store.ts'
import { pendingStoreSuite } from '../../../integrator/src/pending/pending-store-suite.ts'
import {
  POSTGRES_PENDING_TABLE,
  postgresJsPendingStore,
  postgresPendingStore,
} from '../../../integrator/src/pending/postgres.ts'
import { oddDefaultsOf } from '../servers/odd-settings.ts'
import { newDatabase, runSql } from '../servers/postgres.ts'

/** A database of PostgreSQL's own defaults, and one of a bank with others. */
const [plain, odd] = [await newDatabase(), await newDatabase()]
const bank = new URL(odd).pathname.slice(1)
// The connection of the bank's own pool, which does not survive a failed statement with it.
await runSql(plain, `${oddDefaultsOf(bank)}; alter database "${bank}" reset exit_on_error`)
const closing: (() => Promise<void>)[] = []
after(async () => {
  for (const close of closing) await close()
})

async function open(url: string) {
  const pool = new pg.Pool({ connectionString: url })
  await pool.query(POSTGRES_PENDING_TABLE)
  const sql = postgres(url)
  closing.push(
    () => sql.end(),
    () => pool.end(),
  )
  return { pool, sql }
}

async function emptied<Store>(pool: pg.Pool, store: Store): Promise<Store> {
  await pool.query('delete from bond')
  return store
}

/** The check of the suite in which transactions of several rows overlap. */
const OVERLAPPING = 'an action that waits delays no other row'
const { pool, sql } = await open(plain)
for (const [url, where] of [
  [plain, ''],
  [odd, ', with odd defaults'],
] as const) {
  const of = url === plain ? { pool, sql } : await open(url)
  const openPg = () => emptied(of.pool, postgresPendingStore(of.pool))
  for (const { name, run } of suiteOf(url, openPg)) test(`pg${where}: ${name}`, run)

  const openPostgresJs = () => emptied(of.pool, postgresJsPendingStore(of.sql))
  for (const { name, run } of suiteOf(url, openPostgresJs))
    test(`postgres.js${where}: ${name}`, run)

  test(`pg${where}: a use gets false if another one commits during its transaction`, async () => {
    const store = await openPg()
    assert.equal(await loseUse(store, (tx) => tx.query('select 1 from bond')), false)
  })
  test(`postgres.js${where}: a use gets false if another one commits during its transaction`, async () => {
    const store = await openPostgresJs()
    assert.equal(await loseUse(store, (tx) => tx`select 1 from bond`), false)
  })
}

/**
 * The checks whose result is certain. Where `serializable` is the default, PostgreSQL may cancel
 * any of several transactions that overlap, also of different rows. Its user then repeats the
 * request.
 */
function suiteOf<Tx>(url: string, openStore: () => Promise<PendingStore<Tx>>) {
  const suite = pendingStoreSuite(openStore)
  return url === plain ? suite : suite.filter(({ name }) => name !== OVERLAPPING)
}

/** Uses a row in a transaction that has read the table before another one used the row. */
async function loseUse<Tx>(
  store: PendingStore<Tx>,
  read: (tx: Tx) => PromiseLike<unknown>,
): Promise<boolean> {
  const [session_id, owner, time] = ['sess_lost', 'login-1', '2026-11-21T09:30:00.000Z']
  const use = (tx: Tx) => store.use({ session_id, owner, used_at: time }, tx)
  await store.put({
    session_id,
    owner,
    workflow: 'credit_application',
    action: 'submit_application',
    completion_secret: new Secret('bcs_kept'),
    context_digest: null,
    subject_ref: null,
    created_at: time,
    expires_at: time,
    used_at: null,
  })
  return store.transaction(async (tx) => {
    await read(tx)
    await store.transaction(use)
    return use(tx)
  })
}

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
