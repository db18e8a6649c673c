import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { APPROVAL_TABLE, postgresApprovalStore } from '../../../integrator/src/approval/approval.ts'
import { approvalStoreSuite } from '../../../integrator/src/approval/approval-store-suite.ts'
import { survivesFaults } from '../../../integrator/tests/approval/histories.ts'
import { oddDefaultsOf } from '../servers/odd-settings.ts'
import { newDatabase, runSql } from '../servers/postgres.ts'

/** A database of PostgreSQL's own defaults, and one of a bank with others. */
const [plain, odd] = [await newDatabase(), await newDatabase()]
const bank = new URL(odd).pathname.slice(1)
// The connection of the bank's own pool, which does not survive a failed statement with it.
await runSql(plain, `${oddDefaultsOf(bank)}; alter database "${bank}" reset exit_on_error`)
const pools: pg.Pool[] = []
after(() => Promise.all(pools.map((pool) => pool.end())))

async function open(url: string, options = '') {
  const pool = new pg.Pool({ connectionString: url, options })
  pools.push(pool)
  await pool.query(APPROVAL_TABLE)
  return pool
}

for (const [url, where] of [
  [plain, ''],
  [odd, ', with odd defaults'],
] as const) {
  const pool = await open(url)
  const emptied = async () => {
    await pool.query('delete from approval')
    return postgresApprovalStore(pool)
  }
  for (const { name, run } of approvalStoreSuite(emptied)) test(`pg${where}: ${name}`, run)
}

test('pg: no fault runs an action twice, or hides its outcome', async () => {
  await survivesFaults('pg', await postgresApprovalStore(await open(plain)), 1_000)
})

test('pg: refuses connections whose commits do not wait for the disk', async () => {
  const pool = await open(plain, '-c synchronous_commit=off')
  await assert.rejects(postgresApprovalStore(pool), {
    code: 'invalid_configuration',
    message: /synchronous_commit/,
  })
})
