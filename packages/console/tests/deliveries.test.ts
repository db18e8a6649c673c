import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliveryState } from '../src/pages/deliveries.ts'

test('a delivery whose attempt failed reads as retried, and not as waiting', () => {
  const wordOf = (state: 'pending' | 'failed', attempts: number) =>
    deliveryState({ state, attempts }).markup.replaceAll(/<[^>]+>/g, '')
  assert.equal(wordOf('pending', 0), 'pending')
  assert.equal(wordOf('pending', 1), 'retrying')
  assert.equal(wordOf('failed', 9), 'failed')
})
