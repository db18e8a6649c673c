import { type Static, Type } from './type.ts'
import { closed, Score, Timestamp, word } from './primitives.ts'

/** The band of `human_presence_confidence`: `low` < 0.55 ≤ `medium` < 0.80 ≤ `high`. */
export const AssertionBand = word(['low', 'medium', 'high'])
export type AssertionBand = Static<typeof AssertionBand>

export const DeviceStatus = word(['active', 'inactive', 'unknown'], {
  description: 'Whether the carrier could reach the phone.',
})

export const PassportTier = word(['none', 'document', 'chip'])
export type PassportTier = Static<typeof PassportTier>

/** The summary of the proofs of a bond. It contains no signals. */
export const PulseVerification = closed({
  device_possession: Type.Boolean(),
  key_attested: Type.Boolean({
    description: 'Whether the hardware or its vendor attests the key.',
  }),
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
  browser: Type.Optional(
    closed(
      {
        origin: Type.String({ description: 'The origin of the page.' }),
        proved_at: Timestamp,
      },
      {
        description:
          'The proof of the browser that submits. Present only where the workflow requires it.',
      },
    ),
  ),
})
export type PulseVerification = Static<typeof PulseVerification>
