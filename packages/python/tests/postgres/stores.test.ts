import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { APPROVAL_TABLE } from '../../../integrator/src/approval/sql-store.ts'
import { approvalStoreSuite } from '../../../integrator/src/approval/approval-store-suite.ts'
import { newDatabase } from '../../../store/tests/servers/postgres.ts'
import { findPython } from '../python.ts'
import { StoreProcess } from '../served-store.ts'

/** The suite of the stores in TypeScript, over the store in Python on PostgreSQL. */
const found = findPython('cryptography', 'httpx', 'psycopg')
const skip = 'skip' in found && found.skip
let stores: StoreProcess | undefined
before(() => {
  if ('python' in found) stores = new StoreProcess(found.python)
})
after(() => stores?.[Symbol.asyncDispose]())

async function database(sql: string): Promise<string> {
  const url = await newDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql.replaceAll('DATABASE', new URL(url).pathname.slice(1)))
  await client.end()
  return url
}

const suite = approvalStoreSuite(async () => {
  assert.ok(stores)
  return stores.open('postgres', await database(APPROVAL_TABLE))
})
for (const { name, run } of suite) test(`Python on PostgreSQL: ${name}`, { skip }, run)

test('Python on PostgreSQL: refuses a database whose commits do not wait for the disk', {
  skip,
}, async () => {
  assert.ok(stores)
  const off = 'alter database "DATABASE" set synchronous_commit = off'
  const store = await stores.open('postgres', await database(`${APPROVAL_TABLE}; ${off}`))
  await assert.rejects(store.find('sess_x'), /synchronous_commit/)
})
