import { motionFeatures, type MotionSample, type PhoneSignals } from '@bonded/phone'

/**
 * Whole seconds for a full score of the continuity model. A recording of eight seconds has them.
 */
export const NEEDED_MOTION_SECONDS = 7
/** How long an approval waits for these seconds. */
const LONGEST_WAIT_MS = 5_000
const POLL_MS = 100
/** A browser that has not answered by then has asked its user, or never will. */
const LONGEST_RESPONSE_MS = 500
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

/**
 * Records the motion sensors while the page is open. Samples never leave the phone; only features
 * do.
 */
export interface MotionRecorder {
  readonly access: () => MotionAccess
  /** Resolves when it is known whether the browser requires a tap. */
  readonly checked: Promise<void>
  /** Asks the user for the sensors, on a browser that requires it. Call it from a tap. */
  requestAccess(): Promise<void>
  /** Discards the readings so far, such as those of a phone that lay on a table. */
  restart(): void
  /** Whole seconds recorded so far, 60 at most. */
  seconds(): number
  /**
   * Waits until the recording is long enough, five seconds at most and once a page. Without
   * readings there is nothing to wait for.
   *
   * @param onWait called before it waits
   */
  complete(onWait: () => void): Promise<void>
  /** The features of the last minute, and why there are none, or not enough. */
  signals(): Pick<PhoneSignals, 'sensor_continuity' | 'sensor_continuity_missing'>
}

/**
 * Safari prompts for the sensors, and only after a tap. Chromium has the method too, and grants
 * without a prompt.
 */
type MotionEventClass = typeof DeviceMotionEvent & {
  requestPermission?: () => Promise<'granted' | 'denied'>
}

/** Not every browser has the class. The DOM types declare it as a global only, not on `Window`. */
type PageWithMotion = Window & { readonly DeviceMotionEvent?: MotionEventClass }

export function createMotionRecorder(page: Window): MotionRecorder {
  const { DeviceMotionEvent: motionEvent } = page as PageWithMotion
  const recording = record(page)
  let access: MotionAccess = motionEvent === undefined ? 'unavailable' : 'recording'
  let allowedAt = performance.now()
  let hasWaited = false

  const ask = async () => motionEvent?.requestPermission?.() ?? 'granted'
  const decide = (response: 'granted' | 'denied') => {
    access = response === 'granted' ? 'recording' : 'denied'
    allowedAt = performance.now()
  }
  // Without a tap, a browser that would have to prompt rejects the request instead.
  const checked =
    access === 'unavailable'
      ? Promise.resolve()
      : Promise.race([
          ask().then(decide, () => void (access = 'needs_permission')),
          delay(LONGEST_RESPONSE_MS),
        ])

  const signal = () => motionFeatures(recording)
  const seconds = () => Math.floor((signal()?.window_ms ?? 0) / 1_000)
  const currentAccess = () => {
    if (recording.hasReadings()) return 'recording'
    const isSilent = performance.now() - allowedAt > LONGEST_SILENCE_MS
    return access === 'recording' && isSilent ? 'unavailable' : access
  }
  return {
    access: currentAccess,
    checked,
    async requestAccess() {
      if (currentAccess() === 'needs_permission') await ask().then(decide, () => decide('denied'))
    },
    restart: () => void recording.samples.splice(0),
    seconds,
    async complete(onWait) {
      if (hasWaited || !recording.hasReadings() || seconds() >= NEEDED_MOTION_SECONDS) return
      hasWaited = true
      onWait()
      const until = performance.now() + LONGEST_WAIT_MS
      while (seconds() < NEEDED_MOTION_SECONDS && performance.now() < until) await delay(POLL_MS)
    },
    signals() {
      const sensor_continuity = signal()
      if (!recording.hasReadings()) {
        const isRejected = access === 'denied' || access === 'needs_permission'
        return { sensor_continuity_missing: isRejected ? 'denied' : 'missing' }
      }
      return {
        ...(sensor_continuity === undefined ? {} : { sensor_continuity }),
        ...(seconds() < NEEDED_MOTION_SECONDS ? { sensor_continuity_missing: 'too_short' } : {}),
      }
    },
  }
}

/** The readings and touches from now on. */
function record(page: Window): {
  readonly samples: MotionSample[]
  readonly touches_ms: readonly number[]
  readonly hasReadings: () => boolean
} {
  const samples: MotionSample[] = []
  const touches_ms: number[] = []
  let hasReadings = false
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
    touches_ms.push(performance.now())
    if (touches_ms.length > MAX_TOUCHES) touches_ms.shift()
  })
  return { samples, touches_ms, hasReadings: () => hasReadings }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
