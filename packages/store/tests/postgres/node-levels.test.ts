import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { openPostgres } from '../../src/postgres/open-postgres.ts'
import { row } from '../../src/statement.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { openConnection, runSql } from '../servers/postgres.ts'
import { postgresDatabase, ROOT_KEY, settingsOf } from '../servers/test-database.ts'
import { NOW } from '../tables/table-operations.ts'

const database = await postgresDatabase()
const { url } = database
const open = await openPostgres(
  settingsOf(url, { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 }),
  {
    now: NOW,
    idKeys: keyringOf([ROOT_KEY]).idKeys,
  },
)
const stores = [1, 2].map(() => open({ bus: localBus(), meter: noMeter }))
const [store, other] = stores as [(typeof stores)[0], (typeof stores)[0]]
after(async () => {
  await store[Symbol.asyncDispose]()
  await database.drop()
})

/** Levels that no version has. */
const [OLD, NEW] = [1_000, 1_001]
/** An advisory lock of these tests. */
const HELD = 4_711

const claim = (level: number) => store.write((tables) => tables.claimLevel(level))
const admit = (node: string, level: number) =>
  other.write((tables) => tables.admitNode({ node, level }))
const used = () => store.read((tables) => tables.usedLevel())
const begin = () => runSql(url, `delete from node_message; update used_level set level = 0`)

/** Waits until so many units wait for locks, or the second has ended. */
async function untilWaiting(count: number, second?: Promise<boolean>): Promise<void> {
  const state = { hasEnded: false }
  void second?.then(() => (state.hasEnded = true))
  for (;;) {
    const [found] = await runSql(
      url,
      `select count(*) as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (Number(found?.n) === count || state.hasEnded) return
  }
}

/**
 * One of the two is refused, and the level says which. A unit that waits for a lock is run again
 * after a moment, so that the other can be first.
 */
async function assertOneRefused(claimed: Promise<boolean>, admitted: Promise<boolean>) {
  const [isClaimed, isAdmitted] = [await claimed, await admitted]
  assert.notEqual(isClaimed, isAdmitted)
  assert.equal(await used(), isClaimed ? NEW : 0)
}

test('a level is claimed once no node below it serves, and then no such node is admitted', async () => {
  await begin()
  assert.equal(await admit('old', OLD), true)
  assert.deepEqual([await claim(NEW), await used()], [false, 0])
  await runSql(url, `update node_message set sent_at = sent_at - interval '11 seconds'`)
  assert.deepEqual([await claim(NEW), await used()], [true, NEW])
  assert.equal(await admit('old again', OLD), false)
  assert.equal(await admit('new', NEW), true)
  assert.deepEqual([await claim(OLD), await used()], [true, NEW])
})

test('of a claim and a node that starts during it, one is refused', async () => {
  await begin()
  await using holder = await openConnection(url)
  await holder.run(`begin; select pg_advisory_xact_lock(${HELD})`)
  const claimed = store.write(function* (tables) {
    const isClaimed = yield* tables.claimLevel(NEW)
    yield* row(`select pg_advisory_xact_lock(${HELD})`, [])
    return isClaimed
  })
  await untilWaiting(1)
  const admitted = admit('old', OLD)
  await untilWaiting(2, admitted)
  await holder.run('commit')
  await assertOneRefused(claimed, admitted)
})

test('of a node that starts and a claim during its start, one is refused', async () => {
  await begin()
  await using holder = await openConnection(url)
  await holder.run(`begin; select pg_advisory_xact_lock(${HELD})`)
  const admitted = other.write(function* (tables) {
    const isAdmitted = yield* tables.admitNode({ node: 'old', level: OLD })
    yield* row(`select pg_advisory_xact_lock(${HELD})`, [])
    return isAdmitted
  })
  await untilWaiting(1)
  const claimed = claim(NEW)
  await untilWaiting(2, claimed)
  await holder.run('commit')
  await assertOneRefused(claimed, admitted)
})
