import type { Clock } from '@bonded/core/ports/clock'

/** More than the slow corrections of a clock change between two looks. */
const STEP_MS = 10_000
/** Webhooks wait this long after a step: a clock that is wrong for a moment postpones none. */
const SEND_AFTER_MS = 2 * 60_000
/** Deletion waits this long after a step, so that the operator can act on the alert. */
const DELETE_AFTER_MS = 60 * 60_000

/**
 * Compares the time of day with the time elapsed. After a step it cannot know which is right:
 * work that deletes or postpones waits until the clock is back, or has kept its new time.
 */
export class ClockGuard {
  readonly #clock: Clock
  readonly #onStep: (stepMs: number) => void
  /** The time of day less the time elapsed: as trusted, and as seen last. */
  #trustedMs: number
  #seenMs: number
  #seenSinceMs: number

  constructor(clock: Clock, onStep: (stepMs: number) => void = () => {}) {
    this.#clock = clock
    this.#onStep = onStep
    this.#seenSinceMs = clock.elapsed()
    this.#trustedMs = this.#seenMs = clock.now() - this.#seenSinceMs
  }

  /** How far the clock is from where it should be; 0 if it is there, or has kept its new time. */
  stepMs(): number {
    this.#look()
    return this.#seenMs - this.#trustedMs
  }

  mayDelete(): boolean {
    return this.stepMs() === 0
  }

  maySend(): boolean {
    return this.stepMs() === 0 || this.#clock.elapsed() - this.#seenSinceMs >= SEND_AFTER_MS
  }

  #look(): void {
    const elapsedMs = this.#clock.elapsed()
    const offsetMs = this.#clock.now() - elapsedMs
    const isStep = Math.abs(offsetMs - this.#seenMs) > STEP_MS
    this.#seenMs = offsetMs
    if (isStep) this.#seenSinceMs = elapsedMs
    const hasReturned = Math.abs(offsetMs - this.#trustedMs) <= STEP_MS
    if (hasReturned || elapsedMs - this.#seenSinceMs >= DELETE_AFTER_MS) this.#trustedMs = offsetMs
    if (isStep) this.#onStep(offsetMs - this.#trustedMs)
  }
}
