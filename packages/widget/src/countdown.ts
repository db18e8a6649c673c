import type { Instant } from './session/snapshot.ts'

/**
 * The remaining time as minutes and seconds, rounded up so that it reads 0:00 only at the end.
 *
 * @example timeLeft({ until: 92_500, now: 0 }) // '1:33'
 */
export function timeLeft({ until, now }: { until: Instant; now: Instant }): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
