import type {
  DeviceFormat,
  Requirement,
  StepUpKind,
  UNATTESTED,
  VerifiedEvidence,
  Workflow,
} from '@bonded/contract'
import { MIN_CONTINUITY_SCORE } from '@bonded/contract'
import { INBOX_NONCE_SECONDS } from './inbox.ts'
import { BONDED_TTL_SECONDS, CHALLENGE_TTL_SECONDS, SESSION_TTL_SECONDS } from './lifetimes.ts'
import type { Scores } from './scoring.ts'

/** A workflow's requirements with all defaults filled in. Stored with each session. */
export interface Policy {
  readonly require: readonly Requirement[]
  /** Absent: a page shows the request. */
  readonly delivery?: 'inbox'
  readonly passport: 'none' | 'optional' | 'required'
  readonly subject: 'optional' | 'required'
  readonly webauthn: 'attested' | 'seasoned' | 'known' | 'any'
  /** What an unattested `webauthn` key can prove. */
  readonly unattested: (typeof UNATTESTED)[number]
  readonly formats: readonly DeviceFormat[]
  readonly suspectDevices: 'refuse' | 'allow'
  /** The minimum age of the key at the time of the session's call. Absent: no minimum. */
  readonly minKeyAgeMs?: number
  readonly sessionTtlMs: number
  readonly challengeTtlMs: number
  readonly bondedTtlMs: number
}

/** Returns the policy of a workflow. All policy defaults are here. */
export function policyOf(workflow: Workflow): Policy {
  const isInbox = workflow.delivery === 'inbox'
  const challengeTtl = isInbox ? INBOX_NONCE_SECONDS : workflow.challenge_ttl_seconds
  return {
    require: workflow.require ?? [],
    ...(isInbox ? { delivery: 'inbox' } : {}),
    passport: workflow.passport ?? 'none',
    subject: isInbox ? 'required' : (workflow.subject ?? 'optional'),
    webauthn: workflow.webauthn ?? 'any',
    unattested: workflow.unattested ?? 'known',
    formats: workflow.formats ?? ['apple-app-attest', 'android-key', 'webauthn', 'software'],
    suspectDevices: workflow.suspect_devices ?? 'refuse',
    ...(workflow.min_key_age_seconds === undefined
      ? {}
      : { minKeyAgeMs: workflow.min_key_age_seconds * 1000 }),
    sessionTtlMs: (workflow.session_ttl_seconds ?? SESSION_TTL_SECONDS) * 1000,
    challengeTtlMs: (challengeTtl ?? CHALLENGE_TTL_SECONDS) * 1000,
    bondedTtlMs: (workflow.bonded_ttl_seconds ?? BONDED_TTL_SECONDS) * 1000,
  }
}

/**
 * Returns the requirements that the facts do not meet. An empty result means that the policy is
 * met.
 */
export function unmetRequirements(
  policy: Policy,
  proofs: { evidence: VerifiedEvidence; localAuth: boolean; scores: Scores },
): StepUpKind[] {
  const unmet: StepUpKind[] = policy.require
    // The page gives it, after the phone.
    .filter((requirement) => requirement !== 'browser')
    .filter((requirement) => !isMet(requirement, proofs))
  if (policy.passport === 'required' && proofs.evidence.passport?.tier !== 'chip')
    unmet.push('passport_chip')
  return unmet
}

function isMet(
  requirement: Exclude<Requirement, 'browser'>,
  {
    evidence,
    localAuth,
    scores,
  }: { evidence: VerifiedEvidence; localAuth: boolean; scores: Scores },
): boolean {
  switch (requirement) {
    case 'local_auth':
      return localAuth
    case 'carrier':
      return evidence.carrier.number_verified && !evidence.carrier.sim_swap_recent
    case 'sensor_continuity':
      return evidence.sensor_continuity.continuity_score >= MIN_CONTINUITY_SCORE
    case 'band:medium':
      return scores.band !== 'low'
    case 'band:high':
      return scores.band === 'high'
  }
}
