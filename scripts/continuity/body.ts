import type { MotionRecording, MotionSample } from '@bonded/phone'
import type { Chance } from './chance.ts'

/** Readings per second, the rate that browsers and most apps get. */
export const RATE_HZ = 50
const DT_S = 1 / RATE_HZ
const GRAVITY_MS2 = 9.81
/** A uniform distribution between minus and plus this value has variance 1. */
const WIDEST = Math.sqrt(3)

export type Vector = [number, number, number]

/** What moves a phone at one instant: its rotation, in rad, and its acceleration, in m/s². */
export interface Push {
  readonly turn: Vector
  readonly push: Vector
}

/** A movement as a function of the time since its start. It may touch the screen. */
export type Movement = (sinceS: number, touch: () => void) => Push

/** One section of a recording. */
export interface Stretch {
  readonly seconds: number
  readonly movement: Movement
}

/** The noise of a sensor, as a standard deviation per axis. */
export interface SensorGrade {
  readonly accMs2: number
  readonly gyroRadS: number
}

/**
 * From the best phones to the cheapest, from data sheets: 80 to 400 µg/√Hz and 0.004 to 0.03
 * °/s/√Hz at 25 Hz.
 */
export function sensorGrade(luck: Chance): SensorGrade {
  return { accMs2: luck.logUniform(0.004, 0.02), gyroRadS: luck.logUniform(0.0004, 0.0026) }
}

/**
 * What the sensors of a phone read during the movement. Gravity turns with the phone, and the
 * rotation rate is the derivative of the rotation, so both sensors agree on one movement, as real
 * ones do.
 */
export function record(
  stretches: readonly Stretch[],
  { luck, grade }: { luck: Chance; grade: SensorGrade },
): MotionRecording {
  const samples: MotionSample[] = []
  const touches_ms: number[] = []
  const down = unit([luck.normal(), luck.normal(), luck.normal()])
  // The next movement starts where the previous one ends, because a hand does not jump.
  let held: Vector = [0, 0, 0]
  let before: Vector = [0, 0, 0]
  let tick = 0
  for (const { seconds, movement } of stretches) {
    const ticks = Math.round(seconds * RATE_HZ)
    let began: Vector | undefined
    for (let since = 0; since < ticks; since++, tick++) {
      const t_ms = tick * (1_000 / RATE_HZ)
      const { turn, push } = movement(since * DT_S, () => void touches_ms.push(t_ms))
      began ??= turn
      const angle: Vector = [
        held[0] + turn[0] - began[0],
        held[1] + turn[1] - began[1],
        held[2] + turn[2] - began[2],
      ]
      const pull = rotated(down, angle)
      // The service reads only the variance over a second.
      const noise = (deviation: number) => luck.uniform(-WIDEST, WIDEST) * deviation
      samples.push({
        t_ms,
        acc: [
          GRAVITY_MS2 * pull[0] + push[0] + noise(grade.accMs2),
          GRAVITY_MS2 * pull[1] + push[1] + noise(grade.accMs2),
          GRAVITY_MS2 * pull[2] + push[2] + noise(grade.accMs2),
        ],
        gyro: [
          (angle[0] - before[0]) / DT_S + noise(grade.gyroRadS),
          (angle[1] - before[1]) / DT_S + noise(grade.gyroRadS),
          (angle[2] - before[2]) / DT_S + noise(grade.gyroRadS),
        ],
      })
      before = angle
    }
    held = before
  }
  return { samples, touches_ms }
}

/**
 * A value that wanders around 0 with this deviation and decorrelates in about so many seconds;
 * smooth, as limbs are.
 */
export function wander(
  luck: Chance,
  { deviation, forgetsS }: { deviation: number; forgetsS: number },
): () => number {
  const keep = Math.exp(-DT_S / forgetsS)
  const kick = Math.sqrt(1 - keep * keep)
  // A sum of uniform steps is as good as normal ones, at a fifth of the cost.
  let [drive, value] = [luck.normal(), 0]
  return () => {
    drive = keep * drive + kick * luck.uniform(-WIDEST, WIDEST)
    value += (drive - value) * (1 - keep) * 3
    return deviation * value
  }
}

export function wander3(luck: Chance, of: { deviation: number; forgetsS: number }): () => Vector {
  const [x, y, z] = [wander(luck, of), wander(luck, of), wander(luck, of)]
  return () => [x(), y(), z()]
}

/** How strongly a user moves from moment to moment: a factor around 1. */
export function vigour(luck: Chance, { spread = 0.3, forgetsS = 5 } = {}): () => number {
  const mood = wander(luck, { deviation: spread, forgetsS })
  return () => Math.exp(mood())
}

export function direction(luck: Chance): Vector {
  return unit([luck.normal(), luck.normal(), luck.normal()])
}

export function times(by: number, [x, y, z]: Vector): Vector {
  return [by * x, by * y, by * z]
}

export function sum(...vectors: readonly Vector[]): Vector {
  const total: Vector = [0, 0, 0]
  for (const [x, y, z] of vectors) {
    total[0] += x
    total[1] += y
    total[2] += z
  }
  return total
}

function unit([x, y, z]: Vector): Vector {
  const length = lengthOf([x, y, z])
  return [x / length, y / length, z / length]
}

/** Rodrigues' formula: rotates the vector about an axis by the axis' length. */
function rotated(vector: Vector, axis: Vector): Vector {
  const angle = lengthOf(axis)
  if (angle < 1e-12) return vector
  const [x, y, z] = times(1 / angle, axis)
  const [a, b, c] = vector
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const along = (x * a + y * b + z * c) * (1 - cos)
  return [
    a * cos + (y * c - z * b) * sin + x * along,
    b * cos + (z * a - x * c) * sin + y * along,
    c * cos + (x * b - y * a) * sin + z * along,
  ]
}

/** Math.hypot guards against overflow and takes ten times as long. */
function lengthOf([x, y, z]: Vector): number {
  return Math.sqrt(x * x + y * y + z * z)
}
