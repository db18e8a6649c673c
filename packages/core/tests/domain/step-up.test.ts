import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StepUpKind, VerifiedEvidence } from '@bonded/contract'
import { MAX_VALID_ASSERTIONS } from '../../src/domain/lifetimes.ts'
import { stepUpFor } from '../../src/domain/step-up.ts'

const KINDS: readonly StepUpKind[] = [
  'local_auth',
  'sensor_continuity',
  'carrier',
  'passport_chip',
  'band:medium',
  'band:high',
]
const stepUp = (unmet: readonly StepUpKind[], number_verified = false, validAssertions = 1) =>
  stepUpFor(unmet, {
    evidence: { carrier: { number_verified } } as VerifiedEvidence,
    validAssertions,
  })

test('each requirement that was missed has a reason of its own, in the same order', () => {
  const { required, reasons } = stepUp(KINDS)
  assert.deepEqual(required, KINDS)
  assert.equal(new Set(reasons).size, KINDS.length)
  const reversed = stepUp(KINDS.toReversed())
  assert.deepEqual(reversed.reasons, reasons.toReversed())
})

test('a verified number that misses the carrier’s requirement was moved to another SIM', () => {
  assert.deepEqual(stepUp(['carrier'], false).reasons, ['number_not_verified'])
  assert.deepEqual(stepUp(['carrier'], true).reasons, ['sim_swap_recent'])
})

test('each valid assertion takes one attempt, and the last one leaves none', () => {
  for (let valid = 1; valid <= MAX_VALID_ASSERTIONS; valid++)
    assert.equal(stepUp(['carrier'], false, valid).attempts_left, MAX_VALID_ASSERTIONS - valid)
})
