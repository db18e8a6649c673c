import type { StepUp, StepUpKind, VerifiedEvidence } from '@bonded/contract'
import { MAX_VALID_ASSERTIONS } from './lifetimes.ts'

/** Returns what a phone must add after a valid assertion that misses the policy. */
export function stepUpFor(
  unmet: readonly StepUpKind[],
  { evidence, validAssertions }: { evidence: VerifiedEvidence; validAssertions: number },
): StepUp {
  return {
    required: [...unmet],
    attempts_left: MAX_VALID_ASSERTIONS - validAssertions,
    reasons: unmet.map((kind) => reasonOf(kind, evidence)),
  }
}

function reasonOf(kind: StepUpKind, { carrier }: VerifiedEvidence): string {
  switch (kind) {
    case 'local_auth':
      return 'local_auth_not_verified'
    case 'sensor_continuity':
      return 'continuity_below_threshold'
    case 'carrier':
      return carrier.number_verified ? 'sim_swap_recent' : 'number_not_verified'
    case 'passport_chip':
      return 'passport_chip_missing'
    case 'band:medium':
      return 'band_below_medium'
    case 'band:high':
      return 'band_below_high'
  }
}
