import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptFailureOf } from '../../src/client/credential.ts'

// The names of WebAuthn Level 3, 5.1.3 and 5.1.4, and those of platforms behind a browser.
for (const [failure, names] of [
  ['denied', ['NotAllowedError', 'AbortError']],
  ['final', ['NotSupportedError', 'SecurityError', 'TypeError']],
  [
    'failed',
    ['UnknownError', 'InvalidStateError', 'ConstraintError', 'NotReadableError', 'OperationError'],
  ],
] as const)
  test(`a prompt is ${failure} by ${names.join(', ')}`, () => {
    for (const name of names) assert.equal(promptFailureOf(name), failure, name)
  })
