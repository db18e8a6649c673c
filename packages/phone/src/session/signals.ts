import type {
  EvidenceSignals,
  LocalAuthMethod,
  PassportSignal,
  SensorSignal,
} from '@bonded/contract'
import { type ServerTime, timestampAt } from '../server-time.ts'

/**
 * Reads the passport that is held to the phone. Its chip signs the challenge: the eight bytes are made from the
 * session's nonce, so what it answers serves this session only.
 */
export type ReadPassport = (challenge: Uint8Array) => Promise<PassportSignal> | PassportSignal

/** What the phone found out about its owner, with the moment on the phone's own clock. */
export interface PhoneSignals {
  readonly local_auth: {
    readonly result: 'verified' | 'failed'
    readonly method: LocalAuthMethod
    /** When, in milliseconds of the injected clock. It becomes `verified_at` in the service's time. */
    readonly at_ms: number
  }
  readonly sensor_continuity?: SensorSignal
  readonly carrier?: NonNullable<EvidenceSignals['carrier']>
  /**
   * Reads the passport, if the user has one at hand. Called when a step-up requires
   * `passport_chip`.
   */
  readonly passport?: ReadPassport
}

/** What is asked of the phone before it signs. */
export interface SignalsAsked {
  /** Kinds that a step-up demands; empty the first time. */
  readonly required: readonly string[]
  readonly reasons: readonly string[]
  /** Valid assertions left before the session ends; undefined the first time. */
  readonly attempts_left: number | undefined
}

/** Gathers signals: asks for a finger or a face, reads the sensors' last minute. */
export type GatherSignals = (asked: SignalsAsked) => Promise<PhoneSignals> | PhoneSignals

/** The signals as the wire has them. Times come from the service's clock, so a wrong one on the phone breaks nothing. */
export function toWire(
  signals: PhoneSignals,
  { time, passport }: { time: ServerTime; passport: PassportSignal | undefined },
): EvidenceSignals {
  const { result, method, at_ms } = signals.local_auth
  const { sensor_continuity, carrier } = signals
  return {
    local_auth: { result, method, verified_at: timestampAt(time, at_ms) },
    ...(sensor_continuity === undefined ? {} : { sensor_continuity }),
    ...(carrier === undefined ? {} : { carrier }),
    ...(passport === undefined ? {} : { passport }),
  }
}
