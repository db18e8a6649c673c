import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateCarriedPhone } from '@bonded/simulator'
import { scoreContinuity } from '../packages/service/src/domain/continuity.ts'
import { chance } from '../scripts/continuity/chance.ts'
import { type Class, confusion, HALVES, total } from '../scripts/continuity/confusion.ts'

/**
 * The minimum or maximum share of a class that the model accepts. A single kind may exceed it, as
 * stated below.
 */
const BOUNDS = {
  carried: { atLeast: 0.95 },
  desk: { atMost: 0.01 },
  replay: { atMost: 0.03 },
  emulator: { atMost: 0.02 },
} as const

const halves = Object.entries(HALVES).map(([half, firstSeed]) => ({
  half,
  rows: confusion(firstSeed),
}))

for (const { half, rows } of halves) {
  test(`classifies simulated windows within the stated bounds (${half})`, () => {
    const shareOf = (which: Class) => total(rows, which).accepted / total(rows, which).windows
    assert.ok(shareOf('carried') >= BOUNDS.carried.atLeast, `carried ${shareOf('carried')}`)
    for (const which of ['desk', 'replay', 'emulator'] as const)
      assert.ok(shareOf(which) <= BOUNDS[which].atMost, `${which} ${shareOf(which)}`)
    for (const { of, kind, accepted, windows } of rows) {
      if (of === 'carried')
        assert.ok(accepted >= 0.8 * windows, `${kind}: ${accepted} of ${windows}`)
      else if (of !== 'between')
        assert.ok(accepted <= 0.12 * windows, `${kind}: ${accepted} of ${windows}`)
    }
    // A class with too few windows would pass every bound.
    for (const which of ['carried', 'desk', 'replay', 'emulator'] as const)
      assert.ok(total(rows, which).windows >= 100, which)
  })
}

test('accepts a phone from a desk after 30 seconds in the hand, but not after 5 to 15', () => {
  const held = halves
    .flatMap(({ rows }) => rows)
    .filter(({ kind }) => kind.includes('held for the last'))
  for (const { kind, accepted, windows } of held) {
    const seconds = Number(/(\d+) seconds/.exec(kind)?.[1])
    if (seconds !== 20) assert.equal(accepted, seconds < 20 ? 0 : windows, kind)
  }
  assert.equal(held.length, 2 * 5)
})

test('accepts the sensor features of the simulated phone for every seed', () => {
  for (let seed = 1; seed <= 2_000; seed++) {
    const luck = chance(seed)
    const { score } = scoreContinuity(simulateCarriedPhone(() => luck.uniform(0, 1)))
    assert.ok(score >= 0.6, `seed ${seed}: ${score}`)
  }
})
