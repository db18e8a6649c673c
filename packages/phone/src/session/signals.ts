import type {
  EvidenceSignals,
  LocalAuthMethod,
  PassportSignal,
  SensorContinuityMissing,
  SensorSignal,
} from '@bonded/contract'
import { type ServerTime, timestampAt } from '../server-time.ts'
import type { Gathered } from './evidence.ts'

/**
 * Reads a passport by NFC. Its chip signs the challenge, eight bytes derived from the session's
 * nonce, so that the signature is valid for this session only.
 */
export type ReadPassport = (challenge: Uint8Array) => Promise<PassportSignal> | PassportSignal

/** The signals that the phone gathered. Times are of the phone's own clock. */
export interface PhoneSignals {
  readonly local_auth: {
    readonly result: 'verified' | 'failed'
    readonly method: LocalAuthMethod
    /**
     * When, in milliseconds of the injected clock. It becomes `verified_at` in the service's time.
     */
    readonly at_ms: number
  }
  readonly sensor_continuity?: SensorSignal
  /** Why there is no motion, or not enough. It appears in the session's timeline. */
  readonly sensor_continuity_missing?: SensorContinuityMissing
  readonly carrier?: NonNullable<EvidenceSignals['carrier']>
  /**
   * Reads the passport, if the user has one at hand. Called when a step-up requires
   * `passport_chip`.
   */
  readonly passport?: ReadPassport
  /**
   * Of `fetchEvidence`, where the phone has called it with these signals while its user read the
   * request. The approval fetches it again if it no longer fits.
   */
  readonly evidence?: Gathered | undefined
}

/** The proofs that the session requires before the phone signs. */
export interface RequiredSignals {
  /** The kinds that a step-up requires; empty the first time. */
  readonly required: readonly string[]
  readonly reasons: readonly string[]
  /** Valid assertions left before the session ends; undefined the first time. */
  readonly attempts_left: number | undefined
}

/** Gathers signals: verifies the user, and reads the last minute of the sensors. */
export type GatherSignals = (required: RequiredSignals) => Promise<PhoneSignals> | PhoneSignals

/**
 * The signals in the form of the API. Times are the service's, so the phone's clock may be wrong.
 */
export function toWire(
  signals: PhoneSignals,
  { time, passport }: { time: ServerTime; passport: PassportSignal | undefined },
): EvidenceSignals {
  const { result, method, at_ms } = signals.local_auth
  const { sensor_continuity, sensor_continuity_missing, carrier } = signals
  return {
    local_auth: { result, method, verified_at: timestampAt(time, at_ms) },
    ...(sensor_continuity === undefined ? {} : { sensor_continuity }),
    ...(sensor_continuity_missing === undefined ? {} : { sensor_continuity_missing }),
    ...(carrier === undefined ? {} : { carrier }),
    ...(passport === undefined ? {} : { passport }),
  }
}
