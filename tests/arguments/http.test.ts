import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HTTP_ARGUMENTS } from './http.ts'
import { faultsOf } from './register.ts'

test('each argument of an endpoint has a test, or a reason why it leaves nothing out', () => {
  assert.deepEqual(faultsOf(HTTP_ARGUMENTS), [])
})
