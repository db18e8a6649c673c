import type {
  EvidenceSignals,
  PassportTier,
  PulseVerification,
  VerifiedEvidence,
} from '@bonded/contract'
import { CONTINUITY_MODEL, type Continuity } from './continuity.ts'
import { EVIDENCE_TTL_MS, ISSUED_AT_MAX_AHEAD_MS, LOCAL_AUTH_MAX_AGE_MS } from './lifetimes.ts'
import { instantOf, iso } from './iso.ts'
import { type Instant } from './session.ts'
import { longLivedContinuity, type ScoringInput, score } from './scoring.ts'

/** An evidence summary before it is signed. */
export type UnsignedEvidence = Omit<VerifiedEvidence, 'signature'>

/** The carrier's result, or that no carrier was queried. */
export type CarrierFinding = Omit<VerifiedEvidence['carrier'], 'checked_at'>

export interface Findings {
  readonly signals: EvidenceSignals
  /** The request's own `issued_at`. */
  readonly requestedAt: Instant
  readonly carrier: CarrierFinding
  readonly continuity: Continuity
  /** Undefined if the workflow accepts no passport or the phone sent none. */
  readonly passport: PassportTier | undefined
  readonly sessionExpiresAt: Instant
  readonly keyId: string
}

/** Evaluates the signals that the phone reported. Every doubt results in `failed`. */
export function summarise(findings: Findings, now: Instant): UnsignedEvidence {
  const { signals, carrier, continuity } = findings
  const checked_at = iso(now)
  // Members are in canonical order, which serializes fastest: the summary is hashed here and on its
  // return.
  return {
    carrier: { checked_at, ...carrier },
    expires_at: iso(Math.min(now + EVIDENCE_TTL_MS, findings.sessionExpiresAt)),
    issued_at: iso(now),
    kid: findings.keyId,
    local_auth: {
      method: signals.local_auth.method,
      result: localAuthHolds(signals.local_auth, findings.requestedAt) ? 'verified' : 'failed',
      verified_at: iso(instantOf(signals.local_auth.verified_at)),
    },
    ...(findings.passport === undefined
      ? {}
      : { passport: { checked_at, tier: findings.passport } }),
    sensor_continuity: {
      continuity_score: continuity.score,
      model: CONTINUITY_MODEL,
      motion_present: continuity.motionPresent,
      samples: continuity.samples,
      window_ms: continuity.windowMs,
    },
  }
}

function localAuthHolds(signal: EvidenceSignals['local_auth'], requestedAt: Instant): boolean {
  return (
    signal.result === 'verified' &&
    signal.method !== 'none' &&
    localAuthTime(signal, requestedAt) === 'in_range'
  )
}

/**
 * When the phone verified its user, compared with the request's own `issued_at`. The two times may
 * be of two clocks of the phone, so a little ahead is in range, as for `issued_at` itself.
 */
export function localAuthTime(
  { verified_at }: Pick<EvidenceSignals['local_auth'], 'verified_at'>,
  requestedAt: Instant,
): 'in_range' | 'too_old' | 'ahead' {
  const age = requestedAt - instantOf(verified_at)
  if (age < -ISSUED_AT_MAX_AHEAD_MS) return 'ahead'
  return age > LOCAL_AUTH_MAX_AGE_MS ? 'too_old' : 'in_range'
}

/**
 * Whether the summary is valid now: not issued in the future, not expired, and with the service's
 * lifetime.
 */
export function evidenceIsCurrent(evidence: VerifiedEvidence, now: Instant): boolean {
  const issuedAt = instantOf(evidence.issued_at)
  const expiresAt = instantOf(evidence.expires_at)
  return issuedAt <= now + 30_000 && now < expiresAt && expiresAt - issuedAt <= EVIDENCE_TTL_MS
}

/** Summarizes the verification that a bond carries. */
export function summarizeVerification(
  input: ScoringInput,
  previousContinuity: number | undefined,
): PulseVerification {
  const { evidence } = input
  const scores = score(input)
  return {
    device_possession: true,
    key_attested: input.attested,
    local_auth: input.localAuth ? 'verified' : 'failed',
    assertion_confidence: scores.assertionConfidence,
    human_presence_confidence: scores.humanPresenceConfidence,
    assertion_band: scores.band,
    continuity_score_long_lived: longLivedContinuity(
      previousContinuity,
      evidence.sensor_continuity.continuity_score,
    ),
    carrier: {
      number_verified: evidence.carrier.number_verified,
      sim_swap_recent: evidence.carrier.sim_swap_recent,
      device_status: evidence.carrier.device_status,
    },
    sensor_continuity: {
      motion_present: evidence.sensor_continuity.motion_present,
      continuity_score: evidence.sensor_continuity.continuity_score,
    },
    ...(evidence.passport ? { passport: { tier: evidence.passport.tier } } : {}),
  }
}
