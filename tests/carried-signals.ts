import type { EvidenceSignals } from '@bonded/contract'
import { seeded } from './seeded.ts'

/**
 * The signals of a carried phone: by default 60 s of walking and handling. Every second differs.
 */
export function carriedSignals(now: number, seconds = 60): EvidenceSignals {
  const next = seeded(now % 2 ** 32)
  const any = () => next(10_000) / 10_000
  return {
    local_auth: {
      result: 'verified',
      method: 'biometric',
      verified_at: new Date(now - 1_000).toISOString(),
    },
    sensor_continuity: {
      window_ms: seconds * 1_000,
      features: Array.from({ length: seconds }, (_, second) => {
        // One hand moves both sensors, but not equally.
        const vigour = Math.exp(2 * any())
        return {
          t_ms: second * 1_000,
          acc_var: 0.3 * vigour,
          gyro_var: 0.03 * vigour * (0.5 + any()),
          handling: second % 11 === 0 ? 1 : 0,
        }
      }),
    },
  }
}
