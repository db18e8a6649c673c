import { motionFeatures, type MotionSample } from '@bonded/phone'

/** One event of `DeviceMotion` from `expo-sensors`: m/s² and degrees per second. */
export interface MotionEvent {
  /** Absent on Android until each of its sensors has reported. */
  readonly accelerationIncludingGravity?: {
    readonly x: number
    readonly y: number
    readonly z: number
  } | null
  readonly rotationRate?: {
    readonly alpha: number
    readonly beta: number
    readonly gamma: number
  } | null
}

export interface MotionSensor {
  isAvailableAsync(): Promise<boolean>
  setUpdateInterval(intervalMs: number): void
  addListener(listener: (event: MotionEvent) => void): { remove(): void }
}

/** Records the motion sensors while the app is open. Samples never leave the phone. */
export interface MotionRecorder {
  start(): Promise<void>
  /** The user touched the screen. */
  touched(): void
  /** Whether the phone has the sensors. */
  isAvailable(): boolean
  /** Whole seconds recorded so far, 60 at most. */
  seconds(): number
  /** The features of the last minute; undefined where nothing was recorded. */
  signal(): ReturnType<typeof motionFeatures>
}

/** 50 readings a second: the continuity model needs 10. */
const INTERVAL_MS = 20
/** Two minutes, twice the reported window. */
const MAX_SAMPLES = 120_000 / INTERVAL_MS
const MAX_TOUCHES = 300
const RADIANS_PER_DEGREE = Math.PI / 180

export function createMotionRecorder(sensor: MotionSensor, now: () => number): MotionRecorder {
  const samples: MotionSample[] = []
  const touches: number[] = []
  let isRecording = false
  const record = ({ accelerationIncludingGravity: acc, rotationRate }: MotionEvent) => {
    if (!acc || !rotationRate) return
    const { alpha, beta, gamma } = rotationRate
    samples.push({
      // The sensor's own timestamps are on another clock than the touches.
      t_ms: now(),
      acc: [acc.x, acc.y, acc.z],
      gyro: [alpha * RADIANS_PER_DEGREE, beta * RADIANS_PER_DEGREE, gamma * RADIANS_PER_DEGREE],
    })
    if (samples.length > MAX_SAMPLES) samples.splice(0, samples.length - MAX_SAMPLES)
  }
  const signal = () => motionFeatures({ samples, touches_ms: touches })
  return {
    async start() {
      if (isRecording || !(await sensor.isAvailableAsync())) return
      isRecording = true
      sensor.setUpdateInterval(INTERVAL_MS)
      sensor.addListener(record)
    },
    touched() {
      touches.push(now())
      if (touches.length > MAX_TOUCHES) touches.shift()
    },
    isAvailable: () => isRecording,
    seconds: () => Math.floor((signal()?.window_ms ?? 0) / 1_000),
    signal,
  }
}
