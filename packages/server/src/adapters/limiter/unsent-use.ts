import type { CountedLimit } from '@bonded/core/domain/limits'
import type { Take } from '@bonded/core/ports/limiter'
import { GenerationCache } from '@bonded/core/collections/generation-cache'

/** What a bucket gave: its limit and key, and how long the bucket takes to refill it. */
export interface BucketUse {
  readonly limit: Pick<CountedLimit, 'name' | 'burst' | 'intervalUs'>
  readonly key: string
  readonly usedUs: number
}

/** About 4 MB each. What is used beyond it counts on this node alone. */
const MAX_SMALL = 20_000
const MAX_DUE = 20_000
/**
 * A node keeps the use of a bucket to itself until it is this part of the burst. Most buckets never
 * reach it, so most requests cause no message.
 */
const SENT_PART = 1 / 8

interface Use {
  readonly limit: CountedLimit
  readonly key: string
  readonly sinceUs: number
  units: number
}

/** The use of buckets that the other nodes do not know yet. */
export class UnsentUse {
  /** Too little to send, so far. */
  readonly #small = new GenerationCache<string, Use>(MAX_SMALL)
  readonly #due = new Map<string, Use>()

  add({ limit, key }: Take, nowUs: number): void {
    const name = `${limit.name} ${key}`
    const due = this.#due.get(name)
    if (due !== undefined) {
      due.units++
      return
    }
    let use = this.#small.get(name)
    // A bucket refills in this time, so an earlier use no longer counts.
    if (use === undefined || nowUs - use.sinceUs > limit.burst * limit.intervalUs) {
      use = { limit, key, sinceUs: nowUs, units: 0 }
      this.#small.set(name, use)
    }
    use.units++
    if (use.units < limit.burst * SENT_PART) return
    this.#small.delete(name)
    if (this.#due.size < MAX_DUE) this.#due.set(name, use)
  }

  /** Removes and returns the use to send, of at most `max` buckets and the oldest first. */
  take(max: number): readonly BucketUse[] {
    const taken: BucketUse[] = []
    for (const [name, { limit, key, units }] of this.#due) {
      if (taken.length === max) break
      this.#due.delete(name)
      taken.push({ limit, key, usedUs: units * limit.intervalUs })
    }
    return taken
  }
}
