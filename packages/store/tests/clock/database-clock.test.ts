import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../tests/random.ts'
import { DatabaseClock } from '../../src/clock/database-clock.ts'

const NOW = 1_800_000_000_000
const HOUR_MS = 3_600_000

/** A machine whose time of day can be set, and a database whose time goes on. */
function world(aheadMs = 0) {
  let elapsed = 0
  let offset = aheadMs
  const differences: number[] = []
  const clock = new DatabaseClock({
    machine: { now: () => NOW + elapsed + offset, elapsed: () => elapsed },
    onDifference: (ms) => differences.push(ms),
  })
  return {
    clock,
    differences,
    wait: (ms: number) => void (elapsed += ms),
    set: (ms: number) => void (offset += ms),
    /** Asks the database, which responds after one time and arrives after the other. */
    ask(thereMs = 0, backMs = 0, meanwhile = () => {}) {
      const askedAt = clock.machineTime()
      elapsed += thereMs
      const databaseTime = NOW + elapsed
      meanwhile()
      elapsed += backMs
      clock.read({ askedAt, databaseTime })
    },
    /** How far the clock is ahead of the database. */
    error: () => clock.now() - (NOW + elapsed),
  }
}

test('follows the database on a machine whose clock is wrong by an hour', () => {
  for (const aheadMs of [HOUR_MS, -HOUR_MS]) {
    const w = world(aheadMs)
    w.ask()
    assert.equal(w.error(), 0)
    w.wait(5_000)
    assert.equal(w.error(), 0)
  }
})

test('goes on with the time elapsed while the clock of the machine is set', () => {
  const w = world()
  w.ask()
  for (const ms of [HOUR_MS, -2 * HOUR_MS, 501]) {
    w.set(ms)
    assert.equal(w.error(), 0)
    w.wait(1_000)
    assert.equal(w.error(), 0)
  }
})

test('ignores a reading during which the clock of the machine was set', () => {
  const w = world()
  w.ask()
  w.ask(1, 1, () => w.set(HOUR_MS))
  assert.equal(w.error(), 0)
})

test('ignores a response without a time', () => {
  const w = world(HOUR_MS)
  w.ask()
  w.clock.read({ askedAt: w.clock.machineTime(), databaseTime: Number(undefined) })
  assert.equal(w.error(), 0)
})

test('is never wrong by more than a reading took', () => {
  const ms = fc.integer({ min: 0, max: 5_000 })
  const step = fc.record({
    there: ms,
    back: ms,
    wait: ms,
    set: fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
      fc.array(step, { minLength: 1 }),
      (ahead, steps) => {
        const w = world(ahead)
        let shortest = Number.POSITIVE_INFINITY
        for (const { there, back, wait, set } of steps) {
          w.ask(there, back)
          shortest = Math.min(shortest, there + back)
          assert.ok(Math.abs(w.error()) <= shortest, `${w.error()} after ${shortest}`)
          w.wait(wait)
          if (Math.abs(set) > 500) w.set(set)
        }
      },
    ),
  )
})

test('reports once that the clocks differ by more than a second, and once that they agree', () => {
  const w = world(2_000)
  w.ask()
  w.ask()
  w.set(-1_500)
  w.ask()
  w.ask()
  assert.deepEqual(w.differences, [2_000, 500])
})

test('reports its difference, and the slowest reading since the last report', () => {
  const w = world(2_000)
  w.ask(30, 10)
  w.ask(1, 1)
  const { clockAheadMs, roundTripMs } = w.clock.figures()
  assert.equal(roundTripMs, 40)
  assert.ok(Math.abs(clockAheadMs - 2_000) <= 10)
  assert.equal(w.clock.figures().roundTripMs, 0)
})
