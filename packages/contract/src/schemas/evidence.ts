import { type Static, Type } from './type.ts'
import {
  base64url,
  Bytes32,
  closed,
  GivenTime,
  id,
  Milliseconds,
  Score,
  Timestamp,
  word,
} from './primitives.ts'
import { BrowserKeyRegistration } from './browser-key.ts'
import { Shows } from './context.ts'
import { DeviceStatus, PassportTier } from './verification.ts'

export const LocalAuthMethod = word(['biometric', 'device_credential', 'passkey', 'none'])
export type LocalAuthMethod = Static<typeof LocalAuthMethod>

/** An assertion of the registered key. The device's stored format determines the signed bytes. */
export const AppAttest = closed({
  key_id: Type.String({
    minLength: 1,
    maxLength: 1_364,
    description: 'The value that POST /devices returned.',
  }),
  client_data_hash: Bytes32,
  authenticator_data: base64url({ min: 50, max: 2048 }),
  signature: base64url({ min: 11, max: 200 }),
  client_data_json: Type.Optional(base64url({ min: 1, max: 4096 })),
})
export type AppAttest = Static<typeof AppAttest>

/** One second of motion: variances of the sensor readings, never the readings themselves. */
export const SensorFeature = closed({
  t_ms: Type.Integer({
    minimum: 0,
    maximum: 600_000,
    description: 'Start of the second, from the window’s start.',
  }),
  acc_var: Type.Number({
    minimum: 0,
    maximum: 10_000,
    description: 'Variance of acceleration, (m/s²)².',
  }),
  gyro_var: Type.Number({
    minimum: 0,
    maximum: 10_000,
    description: 'Variance of rotation rate, (rad/s)².',
  }),
  handling: Type.Integer({
    minimum: 0,
    maximum: 100,
    description: 'Touches, lifts and turns in this second.',
  }),
})
export type SensorFeature = Static<typeof SensorFeature>

export const SensorSignal = closed({
  window_ms: Type.Integer({ minimum: 1_000, maximum: 600_000 }),
  features: Type.Array(SensorFeature, { maxItems: 300 }),
})
export type SensorSignal = Static<typeof SensorSignal>

/** Why the phone has no motion to report, or not enough of it. */
export const SensorContinuityMissing = word(['denied', 'missing', 'too_short'])
export type SensorContinuityMissing = Static<typeof SensorContinuityMissing>

/**
 * The files of a passport's chip, tag and length included, without pictures and fingerprints.
 * `active_authentication` is the chip's signature over the first 8 bytes of
 * SHA-256("bond-aa/v1" + nonce).
 */
export const PassportSignal = closed({
  sod: base64url({ min: 4, max: 43_691 }),
  dg1: base64url({ min: 4, max: 256 }),
  dg14: Type.Optional(base64url({ min: 4, max: 10_923 })),
  dg15: Type.Optional(base64url({ min: 4, max: 5_462 })),
  active_authentication: Type.Optional(base64url({ min: 4, max: 1_366 })),
})
export type PassportSignal = Static<typeof PassportSignal>

/** The signals that the phone reports. The service evaluates them and trusts none of them. */
export const EvidenceSignals = closed({
  local_auth: closed({
    result: word(['verified', 'failed']),
    method: LocalAuthMethod,
    verified_at: GivenTime,
  }),
  sensor_continuity: Type.Optional(SensorSignal),
  sensor_continuity_missing: Type.Optional(SensorContinuityMissing),
  carrier: Type.Optional(
    closed({ operator_token: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })) }),
  ),
  passport: Type.Optional(PassportSignal),
})
export type EvidenceSignals = Static<typeof EvidenceSignals>

export const EvidenceRequest = closed({
  session_id: id('sess'),
  nonce: Bytes32,
  device_id: id('dev'),
  subject_id: id('sub'),
  issued_at: GivenTime,
  signals: EvidenceSignals,
  app_attest: Type.Optional(AppAttest),
})
export type EvidenceRequest = Static<typeof EvidenceRequest>

/**
 * The server-signed evidence summary. Open on purpose: its MAC covers every member but `signature`,
 * so nodes of two versions accept each other's. The members are in canonical order, so that a phone
 * can relay the summary without sorting it.
 */
export const VerifiedEvidence = Type.Object({
  carrier: Type.Object({
    checked_at: Timestamp,
    device_status: DeviceStatus,
    number_verified: Type.Boolean(),
    sim_swap_recent: Type.Boolean(),
    source: Type.String(),
  }),
  expires_at: Timestamp,
  issued_at: Timestamp,
  kid: Type.String({ minLength: 1, maxLength: 64 }),
  local_auth: Type.Object({
    method: LocalAuthMethod,
    result: word(['verified', 'failed']),
    verified_at: Timestamp,
  }),
  passport: Type.Optional(Type.Object({ checked_at: Timestamp, tier: PassportTier })),
  sensor_continuity: Type.Object({
    continuity_score: Score,
    model: Type.String(),
    motion_present: Type.Boolean(),
    samples: Type.Integer({ minimum: 0 }),
    window_ms: Milliseconds,
  }),
  signature: Bytes32,
})
export type VerifiedEvidence = Static<typeof VerifiedEvidence>

export const EvidenceResponse = closed({ verified_evidence: VerifiedEvidence })
export type EvidenceResponse = Static<typeof EvidenceResponse>

/** The assertion that bonds a session. */
export const BondedPairAssertion = closed({
  session_id: id('sess'),
  nonce: Bytes32,
  device_id: id('dev'),
  subject_id: id('sub'),
  issued_at: GivenTime,
  app_attest: AppAttest,
  verified_evidence: VerifiedEvidence,
  browser_key: Type.Optional(BrowserKeyRegistration),
  shows: Type.Optional(Shows),
})
export type BondedPairAssertion = Static<typeof BondedPairAssertion>
