import { LIMIT_NAMES, type LimitName } from '@bonded/contract'
import { spend } from '../../domain/gcra.ts'
import type { Limit } from '../../domain/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Limiter, Taken } from '../../ports/limiter.ts'

/** Two generations of the longest keys are 10 MB. Whoever needs a bucket forgotten early must bring so many others in between. */
const MAX_KEYS_A_GENERATION = 20_000

/** The buckets of one limit: key → when it is full again, in microseconds. */
interface Buckets {
  young: Map<string, number>
  old: Map<string, number>
  turnAtUs: number
  /** The longest time that a bucket of this limit can take to fill. */
  periodUs: number
}

/** A limiter of one process, and how many buckets it remembers. */
export interface MemoryLimiter extends Limiter {
  readonly size: () => number
}

/**
 * Keeps the buckets in memory, in two generations: who is heard of moves to the young one, and the old one is
 * dropped as a whole once every bucket in it must be full. So nothing is ever searched for what can be forgotten,
 * and what is kept is bounded even when every call brings a new key.
 */
export function memoryLimiter(
  clock: Pick<Clock, 'now'>,
  { maxKeys = MAX_KEYS_A_GENERATION } = {},
): MemoryLimiter {
  const limits = Object.fromEntries(
    LIMIT_NAMES.map((name): [LimitName, Buckets] => [
      name,
      { young: new Map(), old: new Map(), turnAtUs: 0, periodUs: 0 },
    ]),
  ) as Record<LimitName, Buckets>
  return {
    take(limit, key): Taken {
      const buckets = limits[limit.name]
      const nowUs = clock.now() * 1_000
      turnWhenDue(buckets, limit, { nowUs, maxKeys })
      const spending = spend(buckets.young.get(key) ?? buckets.old.get(key) ?? 0, limit, nowUs)
      buckets.young.set(key, spending.fullAtUs)
      return spending
    },
    size: () =>
      Object.values(limits).reduce(
        (sum, { young, old }) => sum + new Set([...young.keys(), ...old.keys()]).size,
        0,
      ),
  }
}

function turnWhenDue(
  buckets: Buckets,
  limit: Limit,
  { nowUs, maxKeys }: { nowUs: number; maxKeys: number },
): void {
  const periodUs = limit.burst * limit.intervalUs
  // A tenant's own limit can take longer to fill than the others'.
  if (periodUs > buckets.periodUs) buckets.periodUs = periodUs
  if (nowUs < buckets.turnAtUs && buckets.young.size < maxKeys) return
  // After a pause the young ones are full as well.
  buckets.old = nowUs >= buckets.turnAtUs + buckets.periodUs ? new Map() : buckets.young
  buckets.young = new Map()
  buckets.turnAtUs = nowUs + buckets.periodUs
}
