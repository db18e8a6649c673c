import { type Static, Type } from './type.ts'
import { closed, Score, word } from './primitives.ts'

/** `low` < 0.55 ≤ `medium` < 0.80 ≤ `high`, of the number the integrator's rule reads. */
export const AssertionBand = word(['low', 'medium', 'high'])
export type AssertionBand = Static<typeof AssertionBand>

export const DeviceStatus = word(['active', 'inactive', 'unknown'], {
  description: 'Whether the operator could reach the phone just now.',
})

export const PassportTier = word(['none', 'document', 'chip'])
export type PassportTier = Static<typeof PassportTier>

/** The bounded proof summary: what a bond proved, never the signals it was proved with. */
export const PulseVerification = closed({
  device_possession: Type.Boolean(),
  local_auth: word(['verified', 'failed']),
  assertion_confidence: Score,
  human_presence_confidence: Score,
  assertion_band: AssertionBand,
  continuity_score_long_lived: Score,
  carrier: closed({
    number_verified: Type.Boolean(),
    sim_swap_recent: Type.Boolean(),
    device_status: DeviceStatus,
  }),
  sensor_continuity: closed({ motion_present: Type.Boolean(), continuity_score: Score }),
  passport: Type.Optional(closed({ tier: PassportTier })),
})
export type PulseVerification = Static<typeof PulseVerification>
