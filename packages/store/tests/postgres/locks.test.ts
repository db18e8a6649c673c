import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { openPostgres } from '../../src/postgres/open-postgres.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { StoreError } from '../../../core/src/ports/store.ts'
import { openConnection } from '../servers/postgres.ts'
import { postgresDatabase, ROOT_KEY, settingsOf } from '../servers/test-database.ts'
import { newSession, NOW } from '../tables/table-operations.ts'

const LOCK_TIMEOUT_MS = 300
/** The most runs of a unit: on memory, with others in a transaction, and alone. Each may wait. */
const MOST_RUNS = 3

const database = await postgresDatabase()
const open = await openPostgres(settingsOf(database.url, { lockTimeoutMs: LOCK_TIMEOUT_MS }), {
  now: NOW,
  idKeys: keyringOf([ROOT_KEY]).idKeys,
})
const store = open({ bus: localBus(), meter: noMeter })
after(async () => {
  await store[Symbol.asyncDispose]()
  await database.drop()
})

let random = 0
const createSession = (counted: () => void) =>
  store.write((tables) => {
    counted()
    const id = store.newSessionId(NOW, new Uint8Array(16).fill(random++))
    return tables.sessions.create(newSession(id))
  })

test('the attempts of a call share one time to wait for locks, and report the lock', async () => {
  await createSession(() => {})
  await using other = await openConnection(database.url)
  await other.run('begin; lock table session in exclusive mode')
  const calls = Array.from({ length: 4 }, async () => {
    let runs = 0
    const failure: unknown = await createSession(() => runs++).then(
      () => undefined,
      (cause: unknown) => cause,
    )
    assert.ok(failure instanceof StoreError, String(failure))
    assert.equal(failure.kind, 'locked')
    assert.equal((failure.cause as { code?: string }).code, '55P03')
    return runs
  })
  for (const runs of await Promise.all(calls)) assert.ok(runs <= MOST_RUNS, `${runs} runs`)
  await other.run('rollback')
  assert.equal(await createSession(() => {}), true)
})
