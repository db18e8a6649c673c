import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tooExpensive } from '../bench/lifecycle-report.ts'
import { median } from '../bench/process.ts'

test('the median of an even number of figures is the mean of the middle two', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.equal(median([2, 1]), 1.5)
})

test('the median of an odd number of figures is the middle one', () => {
  assert.equal(median([9, 1, 5]), 5)
  assert.equal(median([7]), 7)
  assert.ok(Number.isNaN(median([])))
})

test('the price of a saturated lifecycle fails the benchmark above 2.6 times the floor', () => {
  const of = (saturated: number) =>
    tooExpensive({
      cases: [
        { case: 'saturated', service_us: 0, floor_us: 0, ratio: saturated, ratios: [] },
        { case: '300 a second', service_us: 0, floor_us: 0, ratio: 9, ratios: [] },
      ],
    })
  assert.equal(of(2.6), undefined)
  assert.match(of(2.61) ?? '', /2\.61 times the floor/)
  // A run without the figure proves nothing.
  assert.match(of(Number.NaN) ?? '', /NaN/)
})
