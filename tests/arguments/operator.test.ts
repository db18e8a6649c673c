import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMAND_ARGUMENTS } from './commands.ts'
import { CONSOLE_ARGUMENTS } from './console.ts'
import { faultsOf } from './register.ts'

test('each argument of a command has a test in which it leaves something out, or a reason', () => {
  assert.deepEqual(faultsOf(COMMAND_ARGUMENTS), [])
})

test('each part of a path and of a query of the console has a test in which it leaves something out', () => {
  assert.deepEqual(faultsOf(CONSOLE_ARGUMENTS), [])
})
