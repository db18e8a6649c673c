import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awaitsPhone, hasEnded, SESSION_STATES } from '@bonded/contract'

test('names the states that end a session, and those in which a phone can answer', () => {
  assert.deepEqual(SESSION_STATES.filter(hasEnded), ['completed', 'killed', 'expired'])
  assert.deepEqual(SESSION_STATES.filter(awaitsPhone), ['pending', 'step_up_required'])
})
