import { motionFeatures, type MotionSample } from '@bonded/phone'

/** Seconds of motion for a full score of the continuity model. */
export const NEEDED_MOTION_SECONDS = 30
/** Twice the window that a signal reports, at the 60 readings per second that browsers give. */
const MAX_SAMPLES = 60 * 120
const MAX_TOUCHES = 300
const RADIANS_PER_DEGREE = Math.PI / 180
/** Sensors read many times a second. A phone that is silent for longer has none. */
const LONGEST_SILENCE_MS = 3_000

/**
 * How motion evidence is available on this phone. It is `unavailable` until the first reading of
 * sensors that start late.
 */
export type MotionAccess = 'unavailable' | 'needs_permission' | 'denied' | 'recording'

type MotionSignal = ReturnType<typeof motionFeatures>

/**
 * Records the motion sensors while the page is open. Samples never leave the phone; only features
 * do.
 */
export interface MotionRecorder {
  readonly access: () => MotionAccess
  /** Asks the user for the sensors, on a browser that requires it. Call it from a tap. */
  requestAccess(): Promise<MotionAccess>
  /** Whole seconds recorded so far, 60 at most. */
  seconds(): number
  /** The features of the last minute; undefined where nothing was recorded. */
  signal(): MotionSignal
}

/** iOS requires a permission that only a tap can request; other browsers have no such method. */
type MotionEventClass = typeof DeviceMotionEvent & {
  requestPermission?: () => Promise<'granted' | 'denied'>
}

/** Not every browser has the class. The DOM types declare it as a global only, not on `Window`. */
type PageWithMotion = Window & { readonly DeviceMotionEvent?: MotionEventClass }

export function createMotionRecorder(page: Window): MotionRecorder {
  const samples: MotionSample[] = []
  const touches: number[] = []
  const { DeviceMotionEvent: motionEvent } = page as PageWithMotion
  let access: MotionAccess =
    motionEvent === undefined
      ? 'unavailable'
      : motionEvent.requestPermission === undefined
        ? 'recording'
        : 'needs_permission'

  let listensSince = 0
  let hasReadings = false
  const listen = () => {
    listensSince = performance.now()
    page.addEventListener('devicemotion', ({ accelerationIncludingGravity, rotationRate }) => {
      const { x, y, z } = accelerationIncludingGravity ?? { x: null, y: null, z: null }
      const { alpha, beta, gamma } = rotationRate ?? { alpha: null, beta: null, gamma: null }
      if (x === null || y === null || z === null) return
      if (alpha === null || beta === null || gamma === null) return
      hasReadings = true
      samples.push({
        t_ms: performance.now(),
        acc: [x, y, z],
        // Browsers disagree on which axis is alpha. The features add the axes up, so the order has
        // no effect.
        gyro: [alpha * RADIANS_PER_DEGREE, beta * RADIANS_PER_DEGREE, gamma * RADIANS_PER_DEGREE],
      })
      if (samples.length > MAX_SAMPLES) samples.splice(0, samples.length - MAX_SAMPLES)
    })
    page.addEventListener('pointerdown', () => {
      touches.push(performance.now())
      if (touches.length > MAX_TOUCHES) touches.shift()
    })
  }
  if (access === 'recording') listen()

  const signal = () => motionFeatures({ samples, touches_ms: touches })
  const isSilent = () => !hasReadings && performance.now() - listensSince > LONGEST_SILENCE_MS
  return {
    access: () => (access === 'recording' && isSilent() ? 'unavailable' : access),
    async requestAccess() {
      if (access !== 'needs_permission') return access
      const granted = await motionEvent?.requestPermission?.().catch(() => 'denied' as const)
      // A second tap may have been answered meanwhile.
      if (access !== 'needs_permission') return access
      access = granted === 'granted' ? 'recording' : 'denied'
      if (access === 'recording') listen()
      return access
    },
    seconds: () => Math.floor((signal()?.window_ms ?? 0) / 1_000),
    signal,
  }
}
