import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTapGuard, INERT_MS } from '../src/tap-guard.ts'

/** A guard on a clock that the test moves, and what it reports. */
function guarded() {
  let now = 5_000
  let timers: { at: number; act: () => void }[] = []
  const reports: boolean[] = []
  const guard = createTapGuard({
    now: () => now,
    schedule: (delayMs, act) => void timers.push({ at: now + delayMs, act }),
  })
  guard.follow((isInert) => void reports.push(isInert))
  return {
    guard,
    reports,
    advance: (ms: number) => {
      now += ms
      const due = timers.filter(({ at }) => at <= now)
      timers = timers.filter(({ at }) => at > now)
      for (const { act } of due) act()
    },
    tapNow: () => guard.permits({ timeStamp: now }),
    timers: () => timers.length,
  }
}

test('ignores a tap until a second has passed', () => {
  const { advance, tapNow, reports } = guarded()
  assert.equal(INERT_MS, 1_000)
  assert.equal(tapNow(), false)
  advance(66)
  assert.equal(tapNow(), false)
  advance(933)
  assert.equal(tapNow(), false)
  advance(1)
  assert.equal(tapNow(), true)
  assert.deepEqual(reports, [true, false])
})

test('begins again at each restart, with one timer', () => {
  const { guard, advance, tapNow, reports, timers } = guarded()
  advance(600)
  guard.restart()
  advance(600)
  assert.equal(tapNow(), false)
  guard.restart()
  guard.restart()
  assert.equal(timers(), 1)
  advance(1_000)
  assert.equal(tapNow(), true)
  guard.restart()
  assert.equal(tapNow(), false)
  assert.equal(reports.at(-1), true)
})

test('ignores a tap from before the end, however late the page learns of it', () => {
  const { guard, advance } = guarded()
  advance(3_000)
  assert.equal(guard.permits({ timeStamp: 5_999 }), false)
  assert.equal(guard.permits({ timeStamp: 6_000 }), true)
})

test('reports to the last listener', () => {
  const { guard, reports } = guarded()
  const later: boolean[] = []
  guard.follow((isInert) => void later.push(isInert))
  guard.restart()
  assert.deepEqual([reports.length, later], [1, [true, true]])
})
