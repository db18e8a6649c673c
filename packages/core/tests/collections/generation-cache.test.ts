import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GenerationCache } from '../../src/collections/generation-cache.ts'

test('keeps the entries used last and never more than its bound', () => {
  const cache = new GenerationCache<number, string>(8)
  for (let key = 0; key < 100; key++) {
    cache.set(key, `value ${key}`)
    assert.equal(cache.get(0), 'value 0', 'an entry that is read stays')
    assert.ok(cache.size <= 8)
  }
  assert.equal(cache.get(99), 'value 99')
  assert.equal(cache.get(50), undefined)
})

test('peek reads an entry without extending its life', () => {
  const cache = new GenerationCache<number, string>(2)
  cache.set(1, 'one')
  cache.turn()
  assert.equal(cache.peek(1), 'one')
  cache.turn()
  assert.equal(cache.peek(1), undefined)
})

test('never returns the older value of a key that was set again or deleted', () => {
  const cache = new GenerationCache<number, string>(4)
  cache.set(1, 'old')
  cache.turn()
  cache.set(1, 'new')
  assert.equal(cache.get(1), 'new')
  assert.equal(cache.size, 1)
  cache.delete(1)
  assert.equal(cache.get(1), undefined)
  cache.set(2, 'two')
  cache.turn()
  cache.clear()
  assert.equal(cache.size, 0)
})

test('starts a new generation only on request if unbounded', () => {
  const cache = new GenerationCache<number, number>(Number.POSITIVE_INFINITY)
  for (let key = 0; key < 1_000; key++) cache.set(key, key)
  assert.equal(cache.newerSize, 1_000)
})
