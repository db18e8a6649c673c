import type { PhoneClock, PhoneSignals } from '@bonded/phone'
import type { SimulatedPassport } from './passport/document.ts'
import { passportReader } from './passport/reader.ts'
import { type Random, simulateCarriedPhone, simulateRestingPhone } from './sensors.ts'

/**
 * What a simulated phone reports with an approval:
 *
 * - `carried`: the user unlocked it, and it was carried for the last minute
 * - `resting`: the user unlocked it, and it lay on a table
 * - `locked`: the user did not unlock it
 */
export const EVIDENCE_PROFILES = ['carried', 'resting', 'locked'] as const
export type EvidenceProfile = (typeof EVIDENCE_PROFILES)[number]

/** The sources of simulated evidence. */
export interface EvidenceSources {
  readonly clock: PhoneClock
  readonly random: Random
  /** The user's passport, if there is one. */
  readonly passport: SimulatedPassport | undefined
}

/** Simulates the signals of a profile. The phone reads the passport only if it is required. */
export function simulateEvidence(
  profile: EvidenceProfile,
  { clock, random, passport }: EvidenceSources,
  required: readonly string[],
): PhoneSignals {
  const at_ms = clock.now()
  if (profile === 'locked') return { local_auth: { result: 'failed', method: 'none', at_ms } }
  return {
    local_auth: { result: 'verified', method: 'biometric', at_ms },
    sensor_continuity:
      profile === 'carried' ? simulateCarriedPhone(random) : simulateRestingPhone(random),
    ...(passport !== undefined && required.includes('passport_chip')
      ? { passport: passportReader(passport) }
      : {}),
  }
}
