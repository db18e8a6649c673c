import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Secret } from '@bonded/contract'

test('prints as [secret] in a text, JSON, an inspection and an error', () => {
  const secret = new Secret('dt_value')
  const printed = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { depth: 9, showHidden: true }),
    inspect(new Error('failed', { cause: { secret } })),
    Object.entries(secret).join(),
  ].join('\n')
  assert.doesNotMatch(printed, /dt_value/)
  assert.match(printed, /\[secret\]/)
})

test('returns its value to reveal only', () => {
  assert.equal(new Secret('dt_value').reveal(), 'dt_value')
})
