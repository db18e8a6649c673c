import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdict } from '../src/prove/relay/command.ts'
import { SCENARIOS } from '../src/prove/relay/scenarios/scenarios.ts'

test('claims nothing of an attack or a user that a run of prove relay did not try', () => {
  const claimed = (tried: typeof SCENARIOS) => verdict(tried, []).at(-1)
  assert.equal(
    claimed(SCENARIOS),
    'With the requirement, every attack is stopped, and the user is not.',
  )
  assert.equal(
    claimed(SCENARIOS.filter(({ number }) => number === 3)),
    'With the requirement, every attack of this run is stopped.',
  )
})
