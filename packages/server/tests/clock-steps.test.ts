import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { reportTotals } from '../../core/src/operations/admin/report-totals.ts'
import { reportWebhooks } from '../../core/src/operations/admin/report-webhooks.ts'
import { purgeSessions } from '../../core/src/operations/maintenance/purge-sessions.ts'
import { DatabaseClock } from '../../store/src/clock/database-clock.ts'
import { ClockGuard } from '../src/clock-guard.ts'
import { TestClock } from '../../../tests/harness/test-clock.ts'
import { type Harness, harness } from '../../../tests/harness/harness.ts'
import { accepts, fails } from './webhook-receiver.ts'
import { attempted, logOf, scene, until } from './webhook-scene.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

async function passes(h: Harness, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    h.clock.advance(500)
    for (let turns = 0; turns < 10; turns++) await turn()
    await logOf(h)
  }
}

/** The types of events whose delivery has not ended well. */
const unsentTypes = async (h: Harness) =>
  (await logOf(h)).filter(({ state }) => state !== 'delivered').map(({ type }) => type)

for (const [name, stepMs] of [
  ['a day ahead', DAY_MS + MINUTE_MS],
  ['an hour ahead', HOUR_MS],
  ['an hour behind', -HOUR_MS],
  ['a day behind', -DAY_MS],
] as const)
  test(`a clock that is ${name} for 70 s deletes no session and delays no webhook by more than two minutes`, async () => {
    await using s = await scene()
    const { h } = s
    await s.add()
    const { session } = await h.reach('completed')
    await passes(h, 2_000)
    h.clock.set(stepMs)
    await h.create()
    await passes(h, 70_000)
    h.clock.set(0)
    await h.create()
    await passes(h, 2 * MINUTE_MS)
    // What has begun within this time may end after it.
    for (let reads = 0; reads < 500 && (await unsentTypes(h)).length > 0; reads++) await turn()
    assert.equal((await h.get(session)).body.state, 'completed')
    assert.deepEqual(await unsentTypes(h), [])
  })

test('a clock that is years ahead when logs are purged deletes none of them', async () => {
  await using h = await harness()
  await h.create()
  h.clock.advance(59 * MINUTE_MS)
  // Stores the total, without which the report would count the session itself.
  while ((await purgeSessions(h.service)).more);
  const created = async () =>
    (await reportTotals(h.service, { since: 0, by: 'hour', limit: 9 })).sum.created
  assert.equal(await created(), 1)
  h.clock.set(401 * DAY_MS)
  h.clock.advance(2 * MINUTE_MS)
  for (let turns = 0; turns < 20; turns++) await turn()
  assert.equal(await created(), 1)
  // The clock has kept its new time for an hour when the logs are next purged.
  h.clock.advance(HOUR_MS)
  for (let reads = 0; reads < 500 && (await created()) > 0; reads++) await turn()
  assert.equal(await created(), 0)
})

test('repairs at the start what a clock that was ahead has postponed', async () => {
  await using s = await scene()
  const { h } = s
  h.clock.set(DAY_MS)
  await h.restart()
  await s.add()
  s.receiver.behavior.now = fails
  await h.create()
  await until(h, attempted(h, 1))
  const warnings = async () => (await reportWebhooks(h.service)).warnings.join()
  assert.equal(await warnings(), '')
  h.clock.set(0)
  assert.match(await warnings(), /^\d times of webhooks are in the future/)
  s.receiver.behavior.now = accepts
  await h.restart()
  await passes(h, MINUTE_MS)
  assert.deepEqual(await unsentTypes(h), [])
  assert.equal(await warnings(), '')
})

test('accepts a clock that keeps its new time: webhooks after two minutes, deletion after an hour', () => {
  const clock = new TestClock()
  const steps: number[] = []
  const guard = new ClockGuard(clock, (stepMs) => steps.push(stepMs))
  const state = () => [guard.maySend(), guard.mayDelete()]
  assert.deepEqual(state(), [true, true])
  clock.set(9_000)
  assert.deepEqual(state(), [true, true], 'a slow correction')
  clock.set(HOUR_MS)
  assert.deepEqual(state(), [false, false])
  clock.advance(2 * MINUTE_MS)
  assert.deepEqual(state(), [true, false])
  clock.advance(HOUR_MS)
  assert.deepEqual(state(), [true, true])
  assert.deepEqual(steps, [HOUR_MS - 9_000])
})

test('sees that the clock of a database server was set', () => {
  const machine = { ms: 0, now: () => machine.ms, elapsed: () => machine.ms }
  const clock = new DatabaseClock({ machine })
  const guard = new ClockGuard(clock)
  machine.ms += 1_000
  clock.read({ askedAt: machine.ms, databaseTime: machine.ms + DAY_MS })
  assert.equal(guard.stepMs(), DAY_MS)
  assert.equal(guard.mayDelete(), false)
  machine.ms += 70_000
  clock.read({ askedAt: machine.ms, databaseTime: machine.ms })
  assert.equal(guard.mayDelete(), true)
})
