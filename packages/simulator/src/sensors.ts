import type { SensorFeature, SensorSignal } from '@bonded/contract'

/** A number from 0 (included) to 1 (excluded). */
export type Random = () => number

/** How much of the past a phone reports. */
const WINDOW_S = 60

/**
 * A minute of a carried phone, one entry a second: walking with it in a pocket, taking it out,
 * holding it in the hand. Variances in the order that phones measure: walking shakes by 2 to 9
 * (m/s²)², a hand by hundredths; a table lies below 0.001.
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
  // The tap that approves is itself handling; chance must not leave it out.
  const last = features.at(-1)
  return {
    window_ms: WINDOW_S * 1_000,
    features:
      last === undefined
        ? []
        : [...features.slice(0, -1), { ...last, handling: last.handling + 1 }],
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
