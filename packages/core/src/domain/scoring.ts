import {
  type AssertionBand,
  MIN_ASSERTION_CONFIDENCE,
  type VerifiedEvidence,
} from '@bonded/contract'

/** The name of the weights below. It changes whenever a weight changes. */
export const SCORING_MODEL = 'weights-v2'

/** Where the band `high` begins. `medium` begins where the gate rule stops requiring a review. */
export const HIGH_BAND_FROM = 0.8
/** The maximum score of a bond that must stay `low`, such as one without local authentication. */
export const LOW_BAND_CAP = 0.5499
/** The maximum score of a bond that must stay below `high`. */
export const MEDIUM_BAND_CAP = 0.7999

const CAPS: { readonly [Band in AssertionBand]: number } = {
  low: LOW_BAND_CAP,
  medium: MEDIUM_BAND_CAP,
  high: 1,
}

/** What each proof adds to `assertion_confidence`. They sum to 1; an absent proof adds nothing. */
export const ASSERTION_WEIGHTS = {
  possession: 0.4,
  localAuth: { biometric: 0.2, passkey: 0.2, device_credential: 0.15, none: 0 },
  sensorContinuity: 0.15,
  numberVerified: 0.08,
  noSimSwap: 0.07,
  reachable: 0.03,
  passport: { none: 0, document: 0.03, chip: 0.07 },
} as const

/**
 * What each proof adds to `human_presence_confidence`: that a user just unlocked the phone, and
 * that it was held or worn. Motion alone says little, because a script can send it: it weighs less
 * than the unlocked phone.
 */
export const PRESENCE_WEIGHTS = {
  possession: 0.2,
  localAuth: { biometric: 0.45, passkey: 0.45, device_credential: 0.35, none: 0 },
  sensorContinuity: 0.3,
  passport: { none: 0, document: 0, chip: 0.05 },
} as const

export interface ScoringInput {
  readonly evidence: VerifiedEvidence
  /** Whether the user was authenticated on the phone, by evidence or by the assertion's flag. */
  readonly localAuth: boolean
  /** The method of that authentication. */
  readonly method: VerifiedEvidence['local_auth']['method']
  /** Whether the key is attested (`isAttested`). */
  readonly attested: boolean
  /** The highest band that the key can reach (`highestBandOf`). */
  readonly highestBand: AssertionBand
}

export interface Scores {
  readonly assertionConfidence: number
  readonly humanPresenceConfidence: number
  readonly band: AssertionBand
}

/**
 * Returns the two confidences and the band. Deterministic; removing a proof never raises a number.
 * Values are 0 to 1 with at most four decimals.
 */
export function score(input: Omit<ScoringInput, 'attested'>): Scores {
  const { evidence, localAuth, method, highestBand } = input
  const { carrier, sensor_continuity } = evidence
  const tier = evidence.passport?.tier ?? 'none'
  const proved = localAuth ? method : 'none'
  const fromCarrier = carrier.source === 'none' ? 0 : carrierWeight(carrier)
  const assertion =
    ASSERTION_WEIGHTS.possession +
    ASSERTION_WEIGHTS.localAuth[proved] +
    ASSERTION_WEIGHTS.sensorContinuity * sensor_continuity.continuity_score +
    fromCarrier +
    ASSERTION_WEIGHTS.passport[tier]
  const presence =
    PRESENCE_WEIGHTS.possession +
    PRESENCE_WEIGHTS.localAuth[proved] +
    PRESENCE_WEIGHTS.sensorContinuity * sensor_continuity.continuity_score +
    PRESENCE_WEIGHTS.passport[tier]
  const cap = CAPS[localAuth ? highestBand : 'low']
  const humanPresenceConfidence = fourDecimals(Math.min(presence, cap))
  return {
    assertionConfidence: fourDecimals(Math.min(assertion, cap)),
    humanPresenceConfidence,
    band: bandOf(humanPresenceConfidence),
  }
}

/**
 * The band of the number that the gate rule reads. `low` is exactly the range that requires a
 * review.
 */
export function bandOf(confidence: number): AssertionBand {
  if (confidence >= HIGH_BAND_FROM) return 'high'
  return confidence >= MIN_ASSERTION_CONFIDENCE ? 'medium' : 'low'
}

/** The weight of the newest bond in the long-lived score: about the last five bonds decide. */
export const LONG_LIVED_DECAY = 0.35

/** The decayed mean of a device's continuity over its bonds with one tenant. */
export function longLivedContinuity(previous: number | undefined, latest: number): number {
  return fourDecimals(
    previous === undefined ? latest : previous + LONG_LIVED_DECAY * (latest - previous),
  )
}

/** Rounds down, so that rounding never raises a score over a threshold. */
export function fourDecimals(value: number): number {
  // 1e-9 absorbs binary fractions: 0.29 * 10000 is 2899.9999999999995.
  return Math.floor(value * 10_000 + 1e-9) / 10_000
}

function carrierWeight(carrier: VerifiedEvidence['carrier']): number {
  return (
    (carrier.number_verified ? ASSERTION_WEIGHTS.numberVerified : 0) +
    (carrier.sim_swap_recent ? 0 : ASSERTION_WEIGHTS.noSimSwap) +
    (carrier.device_status === 'active' ? ASSERTION_WEIGHTS.reachable : 0)
  )
}
