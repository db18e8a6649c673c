import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Heartbeats } from '../../src/channel/heartbeats.ts'
import type { Cancel } from '../../../core/src/ports/clock.ts'
import { TestClock } from '../../../../tests/harness/test-clock.ts'

const MS = 3_000

/** A clock that jumps, which does not move its timers, and whose timers run early. */
class UnevenClock extends TestClock {
  jumpedMs = 0
  earlyMs = 0

  override now(): number {
    return super.now() + this.jumpedMs
  }

  override schedule(at: number, callback: () => void): Cancel {
    return super.schedule(at - this.jumpedMs - this.earlyMs, callback)
  }
}

/** A member that records when it had its beats, in milliseconds since the test began. */
function memberAt(clock: TestClock, from: number) {
  const beats: number[] = []
  return { beats, beat: () => void beats.push(clock.now() - from) }
}

test('gives each member a beat every 3 s from when it joined, and none earlier', () => {
  const clock = new TestClock()
  const from = clock.now()
  using heartbeats = new Heartbeats(clock)
  const members = [0, 500, 1_990, 2_990].map((joinsAt) => {
    clock.advance(from + joinsAt - clock.now())
    const member = memberAt(clock, from)
    heartbeats.add(member)
    return { joinsAt, beats: member.beats }
  })
  clock.advance(from + 10 * MS - clock.now())
  for (const { joinsAt, beats } of members)
    assert.deepEqual(
      beats,
      Array.from({ length: joinsAt === 0 ? 10 : 9 }, (_, index) => joinsAt + (index + 1) * MS),
    )
})

test('gives no beat to a member that has left, and continues for the others', () => {
  const clock = new TestClock()
  const from = clock.now()
  using heartbeats = new Heartbeats(clock)
  const [left, stays] = [memberAt(clock, from), memberAt(clock, from)]
  const slot = heartbeats.add(left)
  heartbeats.add(stays)
  clock.advance(MS)
  heartbeats.remove(left, slot)
  clock.advance(MS)
  assert.deepEqual([left.beats, stays.beats], [[MS], [MS, 2 * MS]])
})

test('begins again after all members have left', () => {
  const clock = new TestClock()
  using heartbeats = new Heartbeats(clock)
  const first = memberAt(clock, clock.now())
  heartbeats.remove(first, heartbeats.add(first))
  clock.advance(7 * MS)
  const second = memberAt(clock, clock.now())
  heartbeats.add(second)
  clock.advance(MS)
  assert.deepEqual([first.beats, second.beats], [[], [MS]])
})

test('gives no beat twice if the system’s timers run a millisecond early', () => {
  const clock = new UnevenClock()
  clock.earlyMs = 1
  using heartbeats = new Heartbeats(clock)
  let beats = 0
  for (const joinsAfter of [0, 10, 500]) {
    clock.advance(joinsAfter)
    heartbeats.add({ beat: () => void beats++ })
  }
  clock.advance(10 * MS)
  assert.equal(beats, 30)
})

test('gives each member one beat after a pause of the process or a jump of the clock', () => {
  const hour = 3_600_000
  for (const jumpMs of [hour, -hour]) {
    const clock = new UnevenClock()
    using heartbeats = new Heartbeats(clock)
    let beats = 0
    const member = { beat: () => void beats++ }
    heartbeats.add(member)
    clock.advance(MS - 500)
    heartbeats.add(member)
    clock.jumpedMs = jumpMs
    clock.advance(500)
    assert.equal(beats, 2, 'both phases have had their beat')
    clock.advance(3 * MS)
    assert.equal(beats, 8)
  }
})
