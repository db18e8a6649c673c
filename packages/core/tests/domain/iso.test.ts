import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFor } from '../../../../tests/random.ts'
import { instantOf, iso } from '../../src/domain/iso.ts'

test('a time that is formatted is read as the same time', () => {
  const random = randomFor('times')
  for (let times = 0; times < 1_000; times++) {
    // Neighbors in one minute, and minutes that share a slot of the cache.
    const instant = random(40) * 60_000 + random(60_000)
    assert.equal(iso(instant), new Date(instant).toISOString())
    assert.equal(instantOf(iso(instant)), instant)
  }
})

test('a text in another format than the wire’s fails every comparison', () => {
  for (const text of ['', 'now', '1764158400000', '2026-11-26', '2026-13-01T00:00:00.000Z']) {
    const instant = instantOf(text)
    assert.deepEqual([instant < 0, instant >= 0, 0 - instant > 0], [false, false, false], text)
  }
})
