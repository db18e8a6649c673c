/** The requests of a turn take this long to start, so that new arrivals wait little. */
const START_MS = 4
/**
 * They may take this part of the rest of the turn, if that is longer: the writes of a turn share
 * one sync to disk, so fewer requests per turn would let a slow disk look like overload.
 */
const PART_OF_REST = 0.5
/** The share of the last turn in the average cost of a request. */
const LAST_TURN_SHARE = 0.2
/** The part of the time of a long turn that the next turn still expects. */
const KEPT_PART = 0.8

/**
 * Measures the turns of a busy event loop: how many requests a turn should start, and how long the
 * next one will take.
 */
export class TurnPace {
  readonly #limits: { readonly least: number; readonly most: number }
  #startedMs: number | undefined
  #restMs = 0
  #turnMs = 0
  #requestMs = 0

  /** @param limits how many requests a turn starts at least and at most */
  constructor(limits: { readonly least: number; readonly most: number }) {
    this.#limits = limits
  }

  /** How long the next turn will probably take: as long as the last long one. */
  get turnMs(): number {
    return this.#turnMs
  }

  /** How many requests the turn should start. */
  get requests(): number {
    const { least, most } = this.#limits
    const forMs = Math.max(START_MS, this.#restMs * PART_OF_REST)
    return this.#requestMs * most <= forMs
      ? most
      : Math.max(least, Math.floor(forMs / this.#requestMs))
  }

  /** A turn begins. */
  begin(nowMs: number): void {
    if (this.#startedMs !== undefined)
      this.#turnMs = Math.max(nowMs - this.#startedMs, this.#turnMs * KEPT_PART)
    this.#startedMs = nowMs
  }

  /** The requests of the turn have started, and have run until their first wait. */
  started(requests: number, nowMs: number): void {
    if (this.#startedMs === undefined) return
    const ms = nowMs - this.#startedMs
    if (requests > 0) this.#requestMs += (ms / requests - this.#requestMs) * LAST_TURN_SHARE
    this.#restMs = Math.max(0, this.#turnMs - ms)
  }

  /** The event loop may now sleep, so the time until the next turn shows nothing. */
  pause(): void {
    this.#startedMs = undefined
  }
}
