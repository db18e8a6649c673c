import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateCarriedPhone } from '@bonded/simulator'
import { CONTINUITY_MODEL, scoreContinuity } from '../packages/core/src/domain/continuity.ts'
import { chance } from '../scripts/continuity/chance.ts'
import { type Class, confusion, total } from '../scripts/continuity/confusion.ts'
import { measureRecordings, readRecordedCounts } from '../scripts/continuity/measure-recordings.ts'
import { RATES_HZ, readRecordings, recordingsMissing } from '../scripts/continuity/recordings.ts'

/** The shares of each class that the model accepts, on other seeds than those of the reference. */
const BOUNDS: Readonly<Record<Exclude<Class, 'limit'>, readonly [least: number, most: number]>> = {
  carried: [0.97, 1],
  desk: [0, 0],
  emulator: [0, 0.02],
}

const rows = confusion(500_001)

test('classifies simulated windows of ten seconds within the stated bounds', () => {
  for (const [which, [least, most]] of Object.entries(BOUNDS)) {
    const { windows, accepted } = total(rows, which as Class)
    assert.ok(windows >= 300, which)
    assert.ok(accepted >= least * windows && accepted <= most * windows, `${which}: ${accepted}`)
  }
  for (const { of, kind, windows, accepted } of rows) {
    if (of === 'carried') assert.ok(accepted >= 0.95 * windows, `${kind}: ${accepted}`)
    if (of === 'emulator') assert.ok(accepted <= 0.02 * windows, `${kind}: ${accepted}`)
  }
})

test('accepts a phone from a desk after eight seconds in the hand, but not after three', () => {
  const held = (seconds: number) =>
    rows.find(({ kind }) => kind.endsWith(`for the last ${seconds} seconds`))
  assert.equal(held(3)?.accepted, 0)
  assert.equal(held(8)?.accepted, held(8)?.windows)
})

test('accepts the sensor features of the simulated phone for every seed', () => {
  for (let seed = 1; seed <= 2_000; seed++) {
    const luck = chance(seed)
    const { score } = scoreContinuity(simulateCarriedPhone(() => luck.uniform(0, 1)))
    assert.ok(score >= 0.6, `seed ${seed}: ${score}`)
  }
})

test('accepts 95 % of the recorded windows of ten seconds, in each set', () => {
  const { model, windows } = readRecordedCounts()
  assert.equal(model, CONTINUITY_MODEL)
  const atTen = windows.filter(({ seconds }) => seconds === 10)
  assert.ok(atTen.some(({ carried }) => carried === 'hand'))
  assert.ok(atTen.some(({ carried }) => carried === 'pocket'))
  for (const { set, windows: all, accepted } of atTen)
    assert.ok(accepted >= 0.95 * all, `${set}: ${accepted} of ${all}`)
})

test('accepts 95 % of the held-out windows of ten seconds at each rate of reading', () => {
  const heldOut = readRecordedCounts().rates.filter(({ isHeldOut }) => isHeldOut)
  for (const rateHz of RATES_HZ) {
    const atRate = heldOut.filter((row) => row.rateHz === rateHz)
    assert.deepEqual([...new Set(atRate.map(({ carried }) => carried))].toSorted(), [
      'hand',
      'pocket',
    ])
    for (const { set, windows, accepted } of atRate)
      assert.ok(accepted >= 0.95 * windows, `${set}, ${rateHz} Hz: ${accepted} of ${windows}`)
  }
})

test('confuses fewer than 1 in 10,000 unrelated windows, and recognizes replays', () => {
  const { unrelated, replays } = readRecordedCounts()
  for (const { seconds, pairs, repetitions } of unrelated)
    assert.ok(pairs > 100_000 && repetitions < pairs / 10_000, `${seconds} s: ${repetitions}`)
  for (const { change, seconds, windows, repetitions } of replays)
    assert.ok(
      repetitions >= (LEAST_RECOGNIZED[change] ?? 1) * windows,
      `${change}, ${seconds} s: ${repetitions} of ${windows}`,
    )
})

const LEAST_RECOGNIZED: Readonly<Record<string, number>> = {
  'with 1 % of jitter': 0.95,
  'with 3 % of jitter': 0.75,
}

test(
  'the committed counts are those of the recordings (npm run measure:motion)',
  { skip: recordingsMissing },
  () => assert.deepEqual(readRecordedCounts(), measureRecordings(readRecordings())),
)
