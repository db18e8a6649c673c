import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT_CODES, verdict } from '../relay/command.ts'
import { SCENARIOS } from '../relay/scenarios/scenarios.ts'

test('claims nothing of an attack or a user that a run of prove:relay did not try', () => {
  const claimed = (tried: typeof SCENARIOS) => verdict(tried, [], []).at(-1)
  assert.equal(
    claimed(SCENARIOS),
    'With the requirement, every attack is stopped, and the user is not.',
  )
  assert.equal(
    claimed(SCENARIOS.filter(({ number }) => number === 3)),
    'With the requirement, every attack of this run is stopped.',
  )
})

test('says that an attack could not be tried, and does not call it a result', () => {
  const lines = verdict(SCENARIOS, [], ['3, with the requirement, round 1: Error: browser closed'])
  assert.ok(lines.includes('  3, with the requirement, round 1: Error: browser closed'))
  assert.equal(lines.at(-1), '1 of the attempts broke before they ended, so they show nothing.')
  assert.ok(!lines.join().includes('differs'))
  assert.deepEqual(EXIT_CODES, { relay_not_stopped: 1, relay_not_tried: 5 })
})
