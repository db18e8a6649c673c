/** Admitted work counts half after this time. Long enough to average over bursts. */
const HALF_LIFE_MS = 5_000
/** How often the counts decay. */
const DECAY_EVERY_MS = 250
/** Above this multiple of the equal share, an account counts as flooding. Below it is noise. */
const TOLERANCE = 1.5
/** Less work than this in total does not show how accounts share the service. */
const MIN_TOTAL_UNITS = 100
/** An account with less work than this is removed. */
const MIN_UNITS = 0.5

/**
 * Counts the recently admitted work of each account, in units of CPU time, and finds those whose
 * share is above that of the others. An account is a tenant, a phone, or a session.
 */
export class FairShare {
  readonly #units = new Map<string, number>()
  #total = 0
  #decayedMs = Number.NEGATIVE_INFINITY

  /** Counts admitted work. */
  charge(account: string, units: number): void {
    this.#units.set(account, (this.#units.get(account) ?? 0) + units)
    this.#total += units
  }

  /**
   * Whether an account has received more than 1.5 times the equal share. An account that is alone
   * never has.
   */
  isAbove(account: string): boolean {
    if (this.#units.size < 2 || this.#total < MIN_TOTAL_UNITS) return false
    const share = this.#total / this.#units.size
    return this.unitsOf(account) > share * TOLERANCE
  }

  /** The recent work of an account, in units. */
  unitsOf(account: string): number {
    return this.#units.get(account) ?? 0
  }

  /** Lets the counts decay. Call it at least once in `DECAY_EVERY_MS`, as often as you like. */
  decay(nowMs: number): void {
    const passedMs = nowMs - this.#decayedMs
    if (passedMs < DECAY_EVERY_MS) return
    this.#decayedMs = nowMs
    const part = 2 ** (-passedMs / HALF_LIFE_MS)
    this.#total = 0
    for (const [account, units] of this.#units) {
      const left = units * part
      if (left < MIN_UNITS) this.#units.delete(account)
      else {
        this.#units.set(account, left)
        this.#total += left
      }
    }
  }
}
