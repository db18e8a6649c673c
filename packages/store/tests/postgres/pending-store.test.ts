import { after, test } from 'node:test'
import pg from 'pg'
import { pendingStoreSuite } from '../../../integrator/src/pending/pending-store-suite.ts'
import {
  POSTGRES_PENDING_TABLE,
  postgresPendingStore,
} from '../../../integrator/src/pending/postgres.ts'
import { newDatabase } from '../../../../tests/harness/postgres.ts'

const pool = new pg.Pool({ connectionString: await newDatabase() })
await pool.query(POSTGRES_PENDING_TABLE)
after(() => pool.end())

async function open() {
  await pool.query('delete from bond')
  return postgresPendingStore(pool)
}
for (const { name, run } of pendingStoreSuite(open)) test(name, run)
