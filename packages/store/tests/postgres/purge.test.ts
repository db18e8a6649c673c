import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { RETENTION_AFTER_END_MS } from '../../../core/src/domain/lifetimes.ts'
import { BATCH_SESSIONS } from '../../../core/src/operations/maintenance/batch.ts'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import type { Store } from '../../../core/src/ports/store.ts'
import { postgresDatabase } from '../servers/test-database.ts'
import { ADD_TENANTS, newSession, NOW } from '../tables/table-operations.ts'

const database = await postgresDatabase()
const store = (await database.openStore(NOW))({ bus: localBus(), meter: noMeter })
const otherNode = new pg.Client({ connectionString: database.url })
await otherNode.connect()
await otherNode.query(ADD_TENANTS)
after(async () => {
  await otherNode.end()
  await store[Symbol.asyncDispose]()
  await database.drop()
})

test('a purge of Idempotency-Keys leaves out what another node purges, and does not wait', async () => {
  for (let index = 0; index < 6; index++) {
    const session = newSession(store.newSessionId(NOW, new Uint8Array(16).fill(index)))
    const { tenantId } = session
    await store.write((tables) =>
      tables.idempotency.take({ tenantId, key: `${index}`, bodyMac: '', rootKeyId: 'k1', session }),
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

test('two nodes that expire and purge sessions at the same time do each once', async () => {
  const other = (await database.openStore(NOW))({ bus: localBus(), meter: noMeter })
  const nodes = [store, other]
  const ended = NOW + 24 * 60 * 60_000
  for (let index = 0; index < 2 * BATCH_SESSIONS; index++) {
    const session = newSession(store.newSessionId(NOW, new Uint8Array(16).fill(100 + index)))
    await store.write((tables) => tables.sessions.create(session))
  }
  const sweep = async (run: typeof expireSessions, now: number) => {
    let done = 0
    const clock = { now: () => now }
    const sweepOne = async (swept: Store) => {
      for (;;) {
        const batch = await run({ store: swept, clock, settings: {} } as unknown as Service)
        done += batch.done
        if (!batch.more) return
      }
    }
    await Promise.all(nodes.map(sweepOne))
    return done
  }
  const rows = async (sql: string) => Number((await otherNode.query(sql)).rows[0]?.count)
  const live = await rows(`select count(*) from session where state = 'pending'`)
  assert.equal(await sweep(expireSessions, ended), live)
  const events = `select count(*) from session_event where kind = 'expired'`
  assert.equal(await rows(events), live, 'one event for each')
  assert.equal(await sweep(purgeSessions, ended + RETENTION_AFTER_END_MS + 1), live)
  assert.equal(await rows('select count(*) from session'), 0)
  await other[Symbol.asyncDispose]()
})
