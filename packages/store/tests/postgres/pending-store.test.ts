import { after } from 'node:test'
import pg from 'pg'
import { pendingStoreSuite } from '../../../integrator/tests/pending-store-suite.ts'
import {
  PENDING_TABLE,
  postgresPendingStore,
} from '../../../integrator/tests/postgres-pending-store.ts'
import { newDatabase } from '../../../../tests/harness/postgres.ts'

// The example that the guide shows to integrators, on a real database.
const pool = new pg.Pool({ connectionString: await newDatabase() })
await pool.query(PENDING_TABLE)
after(() => pool.end())

pendingStoreSuite('postgres', async () => {
  await pool.query('delete from bond')
  return postgresPendingStore(pool)
})
