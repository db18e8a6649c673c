import type { SensorFeature, SensorSignal } from '@bonded/contract'
import { isMovement } from './movement.ts'

/** One reading of the motion sensors. Axes are the phone's own. */
export interface MotionSample {
  /** The time on any clock that only goes forward. */
  readonly t_ms: number
  /** Acceleration in m/s², including gravity: a still phone reads 9.81 in all. */
  readonly acc: readonly [number, number, number]
  /** Rotation rate in rad/s. */
  readonly gyro: readonly [number, number, number]
}

/** A recording of the phone's sensors up to now. */
export interface MotionRecording {
  readonly samples: readonly MotionSample[]
  /** When the screen was touched, on the clock of the samples. */
  readonly touches_ms: readonly number[]
}

/** The reported period: twice as long as the service needs for a full score. */
export const WINDOW_S = 60
/** Fewer readings give no reliable variance. Phones read 50 to 200 times a second. */
const MIN_SAMPLES_A_SECOND = 10
const REST_MS2 = 9.81
/**
 * The mean acceleration of a phone near the ground, over one second. Outside this range, gravity is
 * missing, the unit is not m/s², or the values are fabricated.
 */
const GRAVITY_MS2 = [6, 15] as const
/** A second in which the phone was turned by more than about 35 degrees counts as handling. */
const TURN_RAD = 0.6
const MAX_VARIANCE = 10_000
const MAX_HANDLING = 100

/**
 * The bounded features of a recording's last minute, one entry per second. The samples never leave
 * the phone. Undefined if there is not one whole second. Leaves out readings that are not numbers
 * or go back in time, and seconds that cannot come from a phone. The service counts such seconds as
 * gaps. A second of noise or of a wave has no rotation.
 *
 * @example
 * const sensor_continuity = motionFeatures({ samples, touches_ms: [lastTouch] })
 */
export function motionFeatures({ samples, touches_ms }: MotionRecording): SensorSignal | undefined {
  const usable = forwardOnly(samples)
  const [first, last, jolt] = [usable[0], usable.at(-1), strongestOf(usable)]
  if (first === undefined || last === undefined || jolt === undefined) return undefined
  // The seconds are aligned to the recording, not to the time of reading. A replayed movement then
  // has the same features, and the service recognizes them.
  const end = last.t_ms - modulo(last.t_ms - jolt.t_ms - 500, 1_000)
  const seconds = Math.min(WINDOW_S, Math.floor((end - first.t_ms) / 1_000))
  if (seconds < 1) return undefined

  const start = end - seconds * 1_000
  const secondOf = (t_ms: number) => Math.floor((t_ms - start) / 1_000)
  const read = Array.from({ length: seconds }, (): MotionSample[] => [])
  for (const sample of usable) read[secondOf(sample.t_ms)]?.push(sample)
  const touched = Array.from({ length: seconds }, () => 0)
  for (const t_ms of touches_ms) {
    // The approving touch comes last and belongs to the last whole second.
    const second = t_ms <= last.t_ms ? Math.min(secondOf(t_ms), seconds - 1) : seconds
    if (second in touched) touched[second] = (touched[second] ?? 0) + 1
  }
  const features = read.flatMap(
    (inSecond, second) => featureOf(inSecond, { second, touches: touched[second] ?? 0 }) ?? [],
  )
  return { window_ms: seconds * 1_000, features }
}

function featureOf(
  samples: readonly MotionSample[],
  { second, touches }: { second: number; touches: number },
): SensorFeature | undefined {
  if (samples.length < MIN_SAMPLES_A_SECOND) return undefined
  const pull = samples.reduce((sum, { acc }) => sum + lengthOf(acc), 0) / samples.length
  if (pull < GRAVITY_MS2[0] || pull > GRAVITY_MS2[1]) return undefined
  const turned =
    angleBetween(meanOf(samples.slice(0, 5)), meanOf(samples.slice(-5))) > TURN_RAD ? 1 : 0
  return {
    t_ms: second * 1_000,
    acc_var: bounded(variance(samples, 'acc')),
    gyro_var: isMovement(samples) ? bounded(variance(samples, 'gyro')) : 0,
    handling: Math.min(MAX_HANDLING, touches + turned),
  }
}

/** The reading that deviates most from rest. */
function strongestOf(samples: readonly MotionSample[]): MotionSample | undefined {
  const jolt = ({ acc }: MotionSample) => Math.abs(lengthOf(acc) - REST_MS2)
  let strongest: MotionSample | undefined
  for (const sample of samples)
    if (strongest === undefined || jolt(sample) > jolt(strongest)) strongest = sample
  return strongest
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}

function forwardOnly(samples: readonly MotionSample[]): readonly MotionSample[] {
  let latest = Number.NEGATIVE_INFINITY
  return samples.filter(({ t_ms, acc, gyro }) => {
    // A sum is finite only where all of its parts are.
    const usable =
      t_ms > latest &&
      Number.isFinite(t_ms + acc[0] + acc[1] + acc[2] + gyro[0] + gyro[1] + gyro[2])
    if (usable) latest = t_ms
    return usable
  })
}

/** The sum of the variances of the three axes. Gravity is included: it shows a turned phone. */
function variance(samples: readonly MotionSample[], sensor: 'acc' | 'gyro'): number {
  let sum = 0
  for (const axis of [0, 1, 2] as const) {
    const mean = samples.reduce((total, sample) => total + sample[sensor][axis], 0) / samples.length
    sum +=
      samples.reduce((total, sample) => total + (sample[sensor][axis] - mean) ** 2, 0) /
      samples.length
  }
  return sum
}

/** Four digits exceed a sensor's precision and keep the request small. */
function bounded(value: number): number {
  return Math.min(MAX_VARIANCE, Number(value.toPrecision(4)))
}

type Direction = readonly [number, number, number]

function meanOf(samples: readonly MotionSample[]): Direction {
  const along = (axis: 0 | 1 | 2) => samples.reduce((sum, { acc }) => sum + acc[axis], 0)
  return [along(0), along(1), along(2)]
}

function angleBetween(a: Direction, b: Direction): number {
  const dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
  return Math.acos(Math.max(-1, Math.min(1, dot / (lengthOf(a) * lengthOf(b)))))
}

function lengthOf([x, y, z]: Direction): number {
  return Math.sqrt(x * x + y * y + z * z)
}
