import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PASSED, passGate, startExample } from '../../../tests/harness/example.ts'

const example = await startExample('fastify')
const skip = typeof example === 'string' && example
if (typeof example === 'string') console.warn(`LOUD: ${example}`)
else after(example.stop)

test('one command starts the example, and an approved form passes its gate', { skip }, async () => {
  assert.ok(typeof example !== 'string')
  assert.deepEqual(await passGate(example), PASSED)
})
