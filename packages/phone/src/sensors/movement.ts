import type { MotionSample } from './motion-features.ts'

/**
 * What the readings of one second must be like for their rotation to count. Measured on white noise
 * and sine waves at 10 to 100 readings per second, and on recordings of carried phones.
 */
export const MOVEMENT_LIMITS = {
  /**
   * The roughness of unrelated readings is 1. Higher limits let white noise on one axis pass: at
   * ten readings per second, their roughness varies by 0.2 from second to second.
   */
  roughness: { below: 0.9 },
  /**
   * The deviation of a wave is 0. Rounded and read at uneven times, waves of up to 1 Hz are below
   * 0.02 in 99 % of seconds, hands and pockets in 0.5 %. Faster waves are as strong in each second,
   * which the service's model rejects.
   */
  waveDeviation: { above: 0.02 },
} as const

/** Movement is compared in steps of this length, in which uneven times of reading average out. */
const STEP_MS = 100
const STEPS = 10
const AXES = [0, 1, 2] as const

/**
 * Whether the readings of a second can be of a body: neither unrelated to each other, as noise is,
 * nor each predicted by its neighbors, as those of a wave are.
 */
export function isMovement(samples: readonly MotionSample[]): boolean {
  // A browser reports the newest reading at its own rate, so one reading can appear several times.
  const distinct = samples.filter((sample, index) => !isSame(sample, samples[index - 1]))
  const roughness = (roughnessOf(distinct, 'acc') + roughnessOf(distinct, 'gyro')) / 2
  return (
    roughness < MOVEMENT_LIMITS.roughness.below &&
    waveDeviationOf(samples) > MOVEMENT_LIMITS.waveDeviation.above
  )
}

function isSame({ acc, gyro }: MotionSample, other: MotionSample | undefined): boolean {
  return (
    other !== undefined &&
    AXES.every((axis) => acc[axis] === other.acc[axis] && gyro[axis] === other.gyro[axis])
  )
}

/**
 * Half the mean squared difference of consecutive readings, relative to their variance (half of von
 * Neumann's ratio): near 0 for a smooth movement, 1 for unrelated readings, and 0 for constants.
 */
function roughnessOf(samples: readonly MotionSample[], sensor: 'acc' | 'gyro'): number {
  let [differences, squares] = [0, 0]
  for (const axis of AXES) {
    const values = samples.map((sample) => sample[sensor][axis])
    const mean = meanOf(values)
    for (const [index, value] of values.entries()) {
      squares += (value - mean) ** 2
      if (index > 0) differences += (value - (values[index - 1] ?? value)) ** 2
    }
  }
  if (squares === 0) return 0
  return ((differences / (samples.length - 1)) * samples.length) / (2 * squares)
}

/**
 * On a wave, the neighbors of each value add up to the same multiple of it. Returns what the best
 * multiple of each axis leaves over, relative to the rotation: 0 for a wave, and near 1 for
 * unrelated values.
 */
function waveDeviationOf(samples: readonly MotionSample[]): number {
  const steps = stepsOf(samples)
  let [left, all] = [0, 0]
  for (const axis of AXES) {
    const values = steps.map((step) => step[axis])
    const inner = centered(values.slice(1, -1))
    const neighbors = centered(
      inner.map((_, index) => (values[index] ?? 0) + (values[index + 2] ?? 0)),
    )
    const squares = productOf(inner, inner)
    if (squares === 0) continue
    // For a wave it is twice a cosine.
    const multiple = Math.max(-2, Math.min(2, productOf(inner, neighbors) / squares))
    const rest = neighbors.map((value, index) => value - multiple * (inner[index] ?? 0))
    left += productOf(rest, rest) / (2 + multiple * multiple)
    all += squares
  }
  return all === 0 ? 0 : left / all
}

/** The mean rotation rates of each tenth of a second that has readings. */
function stepsOf(samples: readonly MotionSample[]): readonly (readonly [number, number, number])[] {
  const startMs = samples[0]?.t_ms ?? 0
  const steps = Array.from({ length: STEPS }, (): MotionSample[] => [])
  for (const sample of samples)
    steps[Math.min(STEPS - 1, Math.floor((sample.t_ms - startMs) / STEP_MS))]?.push(sample)
  return steps
    .filter((step) => step.length > 0)
    .map((step) => {
      const along = (axis: 0 | 1 | 2) => meanOf(step.map(({ gyro }) => gyro[axis]))
      return [along(0), along(1), along(2)]
    })
}

function centered(values: readonly number[]): readonly number[] {
  const mean = meanOf(values)
  return values.map((value) => value - mean)
}

function productOf(some: readonly number[], others: readonly number[]): number {
  return some.reduce((sum, value, index) => sum + value * (others[index] ?? 0), 0)
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
