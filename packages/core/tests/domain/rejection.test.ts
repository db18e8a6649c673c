import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, reject } from '../../src/domain/rejection.ts'

test('a result has a value or a rejection, and never both', () => {
  assert.deepEqual(accept(undefined), { ok: true, value: undefined })
  assert.deepEqual(reject('nonce_mismatch'), {
    ok: false,
    rejection: { reason: 'nonce_mismatch' },
  })
})

test('a rejection carries its reason with the details that the caller names', () => {
  assert.deepEqual(reject('nonce_mismatch', { step: 'nonce', param: 'nonce' }).rejection, {
    reason: 'nonce_mismatch',
    step: 'nonce',
    param: 'nonce',
  })
})
