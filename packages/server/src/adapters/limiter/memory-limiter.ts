import { spend, type Spending } from '@bonded/core/domain/gcra'
import type { CountedLimit } from '@bonded/core/domain/limits'
import type { Clock } from '@bonded/core/ports/clock'
import type { Limiter, Take, Taken } from '@bonded/core/ports/limiter'
import { GenerationCache } from '@bonded/core/collections/generation-cache'
import { type BucketUse, UnsentUse } from './unsent-use.ts'

/**
 * Two generations of the longest keys take 10 MB. To make the limiter drop a bucket early, an
 * attacker needs this many other keys that are granted a unit in the meantime.
 */
const MAX_KEYS_A_GENERATION = 20_000

/** The buckets of one limit. Each key maps to the time at which its bucket is full, in µs. */
interface Buckets {
  readonly cache: GenerationCache<string, number>
  turnAtUs: number
  /** The longest time in which a bucket of this limit fills. */
  periodUs: number
}

/** A limiter of one process. `size` is the number of buckets in memory. */
export interface MemoryLimiter extends Limiter {
  readonly size: () => number
  /** Begins to record use for so many nodes, this one included, that share every bucket. */
  shareAmong(nodes: number): void
  /** Removes and returns the use that other nodes should know, of at most so many buckets. */
  takeUnsent(max: number): readonly BucketUse[]
  /** Takes what another node has granted out of a bucket. `since` is in milliseconds. */
  charge(use: BucketUse, since: number): void
}

/**
 * Keeps the buckets in memory, in two generations. A bucket that is used moves to the newer
 * generation. The older generation is dropped as a whole once every bucket in it must be full. This
 * needs no search for buckets to drop, and bounds memory even where every call brings a new key.
 */
export function memoryLimiter(
  clock: Pick<Clock, 'now'>,
  { maxKeys = MAX_KEYS_A_GENERATION } = {},
): MemoryLimiter {
  const limits = new Map<CountedLimit['name'], Buckets>()
  let nodes = 1
  let unsent: UnsentUse | undefined
  const bucketsOf = (name: CountedLimit['name']): Buckets => {
    let buckets = limits.get(name)
    if (buckets === undefined) {
      buckets = {
        // The limiter itself ends a generation, by time as well as by size.
        cache: new GenerationCache(Number.POSITIVE_INFINITY),
        turnAtUs: 0,
        periodUs: 0,
      }
      limits.set(name, buckets)
    }
    return buckets
  }
  const spendOne = ({ limit, key, keep = 0 }: Take, nowUs: number) => {
    const buckets = bucketsOf(limit.name)
    turnWhenDue(buckets, limit, { nowUs, maxKeys, maxDebt: nodes })
    const fullAtUs = buckets.cache.peek(key)
    const spending = spend({ limit, fullAtUs: fullAtUs ?? 0, keep, maxDebt: nodes }, nowUs)
    return { buckets, key, isKnown: fullAtUs !== undefined, intervalUs: limit.intervalUs, spending }
  }
  /** Most limits count a call in one bucket. */
  const takeOne = (take: Take, nowUs: number): Taken => {
    const { buckets, key, isKnown, spending } = spendOne(take, nowUs)
    if (spending.granted || isKnown) buckets.cache.set(key, spending.fullAtUs)
    if (spending.granted) unsent?.add(take, nowUs)
    return spending
  }
  return {
    take(takes) {
      const nowUs = clock.now() * 1_000
      const [only] = takes
      if (takes.length === 1 && only !== undefined) return takeOne(only, nowUs)
      const spent = takes.map((take) => spendOne(take, nowUs))
      const granted = spent.every(({ spending }) => spending.granted)
      for (const { buckets, key, isKnown, intervalUs, spending } of spent) {
        const returnedUs = !granted && spending.granted ? intervalUs : 0
        // A rejected call adds no key, so a flood that is rejected cannot push out other buckets.
        if (granted || isKnown) buckets.cache.set(key, spending.fullAtUs - returnedUs)
      }
      if (granted) for (const take of takes) unsent?.add(take, nowUs)
      return tightest(spent.map(({ spending }) => spending))
    },
    shareAmong(count) {
      unsent ??= new UnsentUse()
      nodes = count
    },
    takeUnsent: (max) => unsent?.take(max) ?? [],
    charge({ limit, key, usedUs }, since) {
      const buckets = bucketsOf(limit.name)
      turnWhenDue(buckets, limit, { nowUs: clock.now() * 1_000, maxKeys, maxDebt: nodes })
      const fullAtUs = buckets.cache.peek(key) ?? 0
      buckets.cache.set(key, Math.max(fullAtUs, since * 1_000) + usedUs)
    },
    peek: (takes) => {
      const nowUs = clock.now() * 1_000
      return tightest(takes.map((take) => spendOne(take, nowUs).spending))
    },
    size: () => [...limits.values()].reduce((sum, { cache }) => sum + cache.size, 0),
  }
}

function tightest(spendings: readonly Spending[]): Taken {
  const rejecting = spendings.filter(({ granted }) => !granted)
  const [first, ...others] = rejecting.length > 0 ? rejecting : spendings
  if (first === undefined) throw new RangeError('a call takes from at least one bucket')
  return others.reduce((tight, next) => {
    const isTighter =
      rejecting.length > 0 ? next.waitMs > tight.waitMs : next.remaining < tight.remaining
    return isTighter ? next : tight
  }, first)
}

function turnWhenDue(
  buckets: Buckets,
  limit: Pick<CountedLimit, 'burst' | 'intervalUs'>,
  { nowUs, maxKeys, maxDebt }: { nowUs: number; maxKeys: number; maxDebt: number },
): void {
  const periodUs = limit.burst * limit.intervalUs * maxDebt
  // A tenant's own limit can take longer to fill than the service's default.
  if (periodUs > buckets.periodUs) buckets.periodUs = periodUs
  if (nowUs < buckets.turnAtUs && buckets.cache.newerSize < maxKeys) return
  // After a pause the newer buckets are full as well.
  if (nowUs >= buckets.turnAtUs + buckets.periodUs) buckets.cache.clear()
  else buckets.cache.turn()
  buckets.turnAtUs = nowUs + buckets.periodUs
}
