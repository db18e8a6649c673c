/** A request counts half after this time. Long enough to average over bursts. */
const HALF_LIFE_MS = 5_000
/** How often the counts decay. */
const DECAY_EVERY_MS = 250
/** Above this multiple of the equal share, an account counts as flooding. Below it is noise. */
const TOLERANCE = 1.5
/** Fewer requests than this in total do not show how accounts share the service. */
const MIN_TOTAL = 100

/** Counts the recent requests of each account: a tenant, a phone, or a session. */
export class FairShare {
  readonly #counts = new Map<string, number>()
  #total = 0
  #decayedMs = Number.NEGATIVE_INFINITY

  /** Counts a request, and returns the recent ones of its account. */
  count(account: string, nowMs: number): number {
    this.#decay(nowMs)
    const count = (this.#counts.get(account) ?? 0) + 1
    this.#counts.set(account, count)
    this.#total += 1
    return count
  }

  /** Whether an account has more than 1.5 times the equal share. One that is alone never has. */
  isAbove(account: string): boolean {
    if (this.#counts.size < 2 || this.#total < MIN_TOTAL) return false
    return (this.#counts.get(account) ?? 0) > (this.#total / this.#counts.size) * TOLERANCE
  }

  #decay(nowMs: number): void {
    const passedMs = nowMs - this.#decayedMs
    if (passedMs < DECAY_EVERY_MS) return
    this.#decayedMs = nowMs
    const part = 2 ** (-passedMs / HALF_LIFE_MS)
    this.#total *= part
    for (const [account, count] of this.#counts) {
      this.#counts.set(account, count * part)
      // Less than half a request counts as none.
      if (count * part < 0.5 && this.#counts.delete(account)) this.#total -= count * part
    }
  }
}
