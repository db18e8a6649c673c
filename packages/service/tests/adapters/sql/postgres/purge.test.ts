import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { localBus } from '../../../../src/adapters/bus/local-bus.ts'
import { noMeter } from '../../../../src/ports/meter.ts'
import { postgresDatabase } from '../../../harness/test-database.ts'
import { newSession, NOW } from '../table-operations.ts'

const database = await postgresDatabase()
const store = (await database.openStore(NOW))({ bus: localBus(), meter: noMeter })
const otherNode = new pg.Client({ connectionString: database.url })
await otherNode.connect()
after(async () => {
  await otherNode.end()
  await store[Symbol.asyncDispose]()
  await database.drop()
})

test('a purge of Idempotency-Keys leaves out what another node purges, and does not wait', async () => {
  for (let at = 0; at < 6; at++) {
    const session = newSession(store.newSessionId(NOW, new Uint8Array(16).fill(at)))
    const { tenantId } = session
    await store.write((tables) =>
      tables.idempotency.take({ tenantId, key: `${at}`, bodyMac: '', rootKeyId: 'k1', session }),
    )
  }
  const purge = () => store.write((tables) => tables.idempotency.purge(NOW + 1, 100))
  await otherNode.query('begin')
  await otherNode.query(
    'delete from idempotency where ctid in (select ctid from idempotency limit 2)',
  )
  assert.equal(await purge(), 4)
  await otherNode.query('rollback')
  assert.equal(await purge(), 2)
})
