import type { Page } from 'playwright-core'
import { type Recording, rounded } from '../../../scripts/continuity/recordings.ts'
import type { Sandbox } from './sandbox.ts'

/** What the browser's motion sensors do: `asks` is iOS, which requires a permission from a tap. */
export type Sensors = 'granted' | 'denied' | 'silent' | { readonly asks: 'granted' | 'denied' }

/** The part of a page that the driver uses; this file is compiled without a DOM. */
interface SensorPage {
  DeviceMotionEvent: new (type: string, init: object) => Event
  dispatchEvent(event: Event): boolean
  readonly navigator: { readonly userActivation: { readonly isActive: boolean } }
}

/**
 * Installs motion sensors before the page loads. Without readings from `carry` they are silent.
 * Call it before the page opens a link.
 */
export async function installSensors(page: Page, sensors: Sensors): Promise<void> {
  const response = typeof sensors === 'object' ? sensors.asks : undefined
  await page.addInitScript((permission) => {
    // The page's own clock jumps by the time that a recording would take.
    let skippedMs = 0
    const now = performance.now.bind(performance)
    performance.now = () => now() + skippedMs
    // Events carry the time of the same clock.
    const time = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp')
    Object.defineProperty(Event.prototype, 'timeStamp', {
      get(this: Event) {
        return Number(time?.get?.call(this)) + skippedMs
      },
    })
    const noise = randomFrom(7)
    // A limb has inertia: consecutive readings resemble each other.
    const limb = [0, 1, 2, 3, 4, 5].map(() => {
      let value = 0
      return () => (value = 0.8 * value + 0.6 * noise())
    })
    const page = globalThis as unknown as SensorPage
    Object.assign(globalThis, {
      skip: (ms: number) => (skippedMs += ms),
      carry(seconds: number) {
        for (let second = 0; second < seconds; second++) {
          const size = 0.2 * Math.exp(0.6 * noise())
          const turn = size * 0.35 * Math.exp(0.25 * noise())
          for (let reading = 0; reading < 50; reading++) {
            skippedMs += 20
            // The user's thumb touches the screen now and then.
            if (second % 10 === 5 && reading === 0) page.dispatchEvent(new Event('pointerdown'))
            const [x = 0, y = 0, z = 0, ...rates] = limb.map((next) => next())
            const [alpha = 0, beta = 0, gamma = 0] = rates.map(
              (value) => (turn * value * 180) / Math.PI,
            )
            report([size * x, size * y, 9.81 + size * z, alpha, beta, gamma])
          }
        }
      },
      rest(seconds: number) {
        for (let reading = 0; reading < seconds * 50; reading++) {
          skippedMs += 20
          report([0, 0, 9.81, 0, 0, 0])
        }
      },
      replay(events: readonly EventNumbers[]) {
        for (const event of events) {
          skippedMs += 1_000 / 60
          report(event)
        }
      },
    })
    function report([x, y, z, alpha, beta, gamma]: EventNumbers) {
      page.dispatchEvent(
        new page.DeviceMotionEvent('devicemotion', {
          accelerationIncludingGravity: { x, y, z },
          rotationRate: { alpha, beta, gamma },
          interval: 16,
        }),
      )
    }
    // Some versions of Chromium have the method of iOS.
    Object.defineProperty(page.DeviceMotionEvent, 'requestPermission', {
      value:
        permission === undefined
          ? undefined
          : () =>
              page.navigator.userActivation.isActive
                ? Promise.resolve(permission)
                : Promise.reject(new Error('NotAllowedError: it requires a tap')),
    })

    /** Normally distributed numbers, the same in each run. */
    function randomFrom(seed: number): () => number {
      let state = seed
      const uniform = () => {
        state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
        return (state + 1) / (2 ** 32 + 1)
      }
      return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
    }
  }, response)
}

/** Carries the phone for a time that passes at once, on the phone and at the service. */
export async function carry(sandbox: Sandbox, page: Page, seconds: number): Promise<void> {
  await page.evaluate(`carry(${seconds})`)
  sandbox.advance(seconds * 1_000)
}

/** Which part of a recording is replayed. */
interface Part {
  readonly fromMs?: number
  readonly seconds: number
}

/**
 * Replays a recording of a real phone, as Chrome would report it, in a time that passes at once on
 * the phone and at the service. Install the sensors first.
 */
export async function replay(
  sandbox: Sandbox,
  page: Page,
  recording: Recording,
  part: Part,
): Promise<void> {
  await page.evaluate(`replay(${JSON.stringify(eventsOf(recording, part))})`)
  sandbox.advance(part.seconds * 1_000)
}

/** Six numbers of a `DeviceMotionEvent`: m/s² and °/s, in the order of its members. */
type EventNumbers = readonly [number, number, number, number, number, number]

function eventsOf({ samples }: Recording, { fromMs = 0, seconds }: Part): readonly EventNumbers[] {
  const untilMs = fromMs + seconds * 1_000
  const events = samples
    .filter(({ t_ms }) => t_ms >= fromMs && t_ms < untilMs)
    .map(rounded)
    .map(({ acc, gyro }): EventNumbers => {
      const [beta, gamma, alpha] = gyro.map((value) => (value * 180) / Math.PI)
      return [...acc, alpha ?? 0, beta ?? 0, gamma ?? 0]
    })
  if (events.length < 59 * seconds) throw new Error('the recording is shorter than that')
  return events
}

/** Lets time pass without a reading. */
export async function skip(sandbox: Sandbox, page: Page, ms: number): Promise<void> {
  await page.evaluate(`skip(${ms})`)
  sandbox.advance(ms)
}
