import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairShare } from '../../../src/http/shedding/fair-share.ts'

/** Counts so many requests of each account in each of the milliseconds. */
function run(
  shares: FairShare,
  { from, ms, requests }: { from: number; ms: number; requests: Readonly<Record<string, number>> },
) {
  for (let now = from; now < from + ms; now++)
    for (const [account, of] of Object.entries(requests))
      for (let index = 0; index < of; index++) shares.count(account, now)
}

test('finds the tenant that takes more than the others', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 1_000, requests: { flood: 9, quiet: 1 } })
  assert.equal(shares.isAbove('flood'), true)
  assert.equal(shares.isAbove('quiet'), false)
})

test('finds no tenant above its share when all take as much', () => {
  const shares = new FairShare()
  const requests = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`tenant ${index}`, 1]),
  )
  run(shares, { from: 0, ms: 1_000, requests })
  for (const account of Object.keys(requests)) assert.equal(shares.isAbove(account), false)
})

test('never finds a tenant above its share that is alone', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 1_000, requests: { only: 100 } })
  assert.equal(shares.isAbove('only'), false)
})

test('does not judge by a few requests', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 1, requests: { one: 9, other: 1 } })
  assert.equal(shares.isAbove('one'), false)
})

test('counts a flood no longer after a minute', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 10_000, requests: { flood: 9, quiet: 1 } })
  run(shares, { from: 10_000, ms: 60_000, requests: { flood: 1, quiet: 1 } })
  assert.equal(shares.isAbove('flood'), false)
})

test('finds a tenant above its share as soon as another one arrives', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 10_000, requests: { flood: 1 } })
  shares.count('quiet', 10_000)
  assert.equal(shares.isAbove('flood'), true)
})

test('removes accounts that no longer send requests', () => {
  const shares = new FairShare()
  run(shares, { from: 0, ms: 1_000, requests: { only: 1, gone: 1 } })
  for (let now = 1_000; now < 100_000; now += 100) shares.count('only', now)
  for (let index = 0; index < 1_000; index++) shares.count('only', 100_000)
  // Alone again.
  assert.equal(shares.isAbove('only'), false)
})
