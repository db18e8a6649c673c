import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { keepByInput } from '../build/keep-by-input.ts'

test('makes the output of an input once, and another one for another input', async () => {
  const input = randomUUID()
  let made = 0
  const make = () => Promise.resolve({ made: (made += 1) })
  assert.deepEqual(await keepByInput([input, { passes: 2 }], make), { made: 1 })
  assert.deepEqual(await keepByInput([input, { passes: 2 }], make), { made: 1 })
  assert.deepEqual(await keepByInput([input, { passes: 3 }], make), { made: 2 })
})

test('keeps nothing of an input that cannot be compiled', async () => {
  const input = randomUUID()
  const fails = () => Promise.reject(new Error('a mistake in the source'))
  await assert.rejects(keepByInput(input, fails), /a mistake/)
  assert.deepEqual(await keepByInput(input, () => Promise.resolve({ made: 1 })), { made: 1 })
})
