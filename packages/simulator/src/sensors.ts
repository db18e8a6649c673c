import type { SensorFeature, SensorSignal } from '@bonded/contract'

/** A number from 0 (included) to 1 (excluded). */
export type Random = () => number

/** The duration that a phone reports, in seconds. */
const WINDOW_S = 60

/**
 * Simulates one minute of a carried phone, one entry per second: walking with it in a pocket,
 * taking it out, and holding it. The acceleration variances are those of real phones in (m/s²)²: 2
 * to 9 while walking, hundredths in a hand, and below 0.001 on a table.
 */
export function simulateCarriedPhone(random: Random): SensorSignal {
  const features = Array.from({ length: WINDOW_S }, (_, second): SensorFeature => {
    const { acc, gyro, touches } = phaseAt(second)
    return {
      t_ms: second * 1_000,
      acc_var: between(random, acc),
      gyro_var: between(random, gyro),
      handling: Math.floor(random() * (touches + 1)),
    }
  })
  // The tap that approves counts as handling, so the last entry always has one.
  const last = features.at(-1)
  return {
    window_ms: WINDOW_S * 1_000,
    features:
      last === undefined
        ? []
        : [...features.slice(0, -1), { ...last, handling: last.handling + 1 }],
  }
}

/** Simulates one minute of a phone on a table: only the noise of its sensors. */
export function simulateRestingPhone(random: Random): SensorSignal {
  return {
    window_ms: WINDOW_S * 1_000,
    features: Array.from({ length: WINDOW_S }, (_, second) => ({
      t_ms: second * 1_000,
      acc_var: between(random, [0.000_1, 0.000_5]),
      gyro_var: between(random, [0.000_01, 0.000_05]),
      handling: 0,
    })),
  }
}

interface Phase {
  readonly acc: readonly [number, number]
  readonly gyro: readonly [number, number]
  readonly touches: number
}

const WALKING: Phase = { acc: [2, 9], gyro: [0.3, 1.8], touches: 0 }
const TAKING_OUT: Phase = { acc: [4, 20], gyro: [1.5, 8], touches: 3 }
const IN_HAND: Phase = { acc: [0.02, 0.25], gyro: [0.004, 0.06], touches: 5 }

function phaseAt(second: number): Phase {
  if (second < 38) return WALKING
  return second < 43 ? TAKING_OUT : IN_HAND
}

function between(random: Random, [low, high]: readonly [number, number]): number {
  return Math.round((low + random() * (high - low)) * 100_000) / 100_000
}
