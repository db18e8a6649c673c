import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReading } from '@bonded/phone'

test('is complete after every part has been in view', () => {
  const reading = createReading(2)
  assert.deepEqual(reading.next(), { part: 0, from: 0 })
  reading.see(0, -0.5, 3)
  assert.deepEqual(reading.next(), { part: 1, from: 0 })
  reading.see(1, 0, 1)
  assert.equal(reading.next(), undefined)
  assert.equal(createReading(0).next(), undefined)
})

test('says where a part that is taller than the screen continues', () => {
  const reading = createReading(1)
  reading.see(0, 0, 0.4)
  reading.see(0, 0.2, 0.6)
  assert.deepEqual(reading.next(), { part: 0, from: 0.6 })
  reading.see(0, 0.6, 1)
  assert.equal(reading.next(), undefined)
})

test('does not count what a jump has skipped, until it is in view', () => {
  const reading = createReading(1)
  reading.see(0, 0, 0.3)
  reading.see(0, 0.7, 1)
  assert.deepEqual(reading.next(), { part: 0, from: 0.3 })
  reading.see(0, 0.5, 0.71)
  assert.deepEqual(reading.next(), { part: 0, from: 0.3 })
  reading.see(0, 0.3, 0.5)
  assert.equal(reading.next(), undefined)
})

test('counts a part that is read from its end', () => {
  const reading = createReading(1)
  for (const [from, to] of [
    [0.6, 1],
    [0.3, 0.7],
    [0, 0.4],
  ] as const)
    reading.see(0, from, to)
  assert.equal(reading.next(), undefined)
})

test('counts nothing that is outside of the view, without a height, or unknown', () => {
  const reading = createReading(1)
  for (const [from, to] of [
    [-2, 0],
    [1, 2],
    [0.5, 0.5],
    [Number.NaN, Number.NaN],
    [1, 0],
  ] as const)
    reading.see(0, from, to)
  reading.see(7, 0, 1)
  assert.deepEqual(reading.next(), { part: 0, from: 0 })
})
