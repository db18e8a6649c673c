import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairShare } from '../../../src/http/shedding/fair-share.ts'

/** Charges each account so many units in each of the milliseconds. */
function run(
  shares: FairShare,
  { from, ms, units }: { from: number; ms: number; units: Readonly<Record<string, number>> },
) {
  for (let now = from; now < from + ms; now++) {
    shares.decay(now)
    for (const [account, of] of Object.entries(units)) shares.charge(account, of)
  }
}

test('finds the tenant that takes more than the others', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 1_000, units: { flood: 9, quiet: 1 } })
  assert.equal(shares.isAbove('flood'), true)
  assert.equal(shares.isAbove('quiet'), false)
})

test('finds no tenant above its share when all take as much', () => {
  const shares = new FairShare()
  const units = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`tenant ${at}`, 1]))
  run(shares, { from: 0, ms: 1_000, units })
  for (const account of Object.keys(units)) assert.equal(shares.isAbove(account), false)
})

test('never finds a tenant above its share that is alone', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 1_000, units: { only: 100 } })
  assert.equal(shares.isAbove('only'), false)
})

test('does not judge by a little work', () => {
  const shares = new FairShare()
  shares.charge('one', 9)
  shares.charge('other', 1)
  assert.equal(shares.isAbove('one'), false)
})

test('counts a flood no longer after a minute', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 10_000, units: { flood: 9, quiet: 1 } })
  run(shares, { from: 10_000, ms: 60_000, units: { flood: 1, quiet: 1 } })
  assert.equal(shares.isAbove('flood'), false)
})
