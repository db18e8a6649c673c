import {
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  NEWCOMER_CREATES,
  NEWCOMER_PERIOD_MINUTES,
  NEWCOMER_SHARE,
} from '@bonded/contract'
import type { Network } from './network.ts'

/** A rate with a burst: a bucket of `burst` units that gains one unit every `intervalUs`. */
export interface Limit<Name extends string = LimitName> {
  readonly name: Name
  readonly quota: number
  readonly burst: number
  /**
   * In microseconds, rounded up, so that the rate never exceeds the quota. In milliseconds, 7 a
   * minute would become 6 or 8.
   */
  readonly intervalUs: number
  /** The value of `RateLimit-Policy`, which every response carries. */
  readonly policy: string
}

export type Limits = Readonly<Record<LimitName, Limit>>
/** Limits that replace some of the defaults. */
export type SomeLimits = Partial<Limits>

/** What the limiter counts: calls, and how often a network counts as new to a tenant. */
export type CountedLimit = Limit<LimitName | 'newcomer'>

const MINUTE_US = 60_000_000
/**
 * The longest time that a session can wait for its phone. A session's bucket gains no unit before.
 */
const LONGEST_SESSION_US = 86_400_000_000
/** The highest rate: at 10,000 a second, rounding the interval costs less than 1 %. */
const MAX_QUOTA = 600_000

/**
 * Limits that a tenant can override. The other limits count phones and addresses without a tenant.
 */
export const TENANT_LIMITS: readonly LimitName[] = ['create', 'create_address', 'get', 'backend']

/**
 * How often a network counts as new to a tenant. It is not a limit of calls: within it, a create
 * may take the units that the `create` limit keeps for newcomers.
 */
export const NEWCOMER_LIMIT: CountedLimit = {
  name: 'newcomer',
  quota: NEWCOMER_CREATES,
  burst: NEWCOMER_CREATES,
  intervalUs: (NEWCOMER_PERIOD_MINUTES * MINUTE_US) / NEWCOMER_CREATES,
  policy: '',
}

/**
 * How many units of a `create` bucket are kept for networks that the tenant has not seen lately.
 */
export function reservedForNewcomers({ burst }: Limit): number {
  return burst === 1 ? 0 : Math.ceil(burst * NEWCOMER_SHARE)
}

/** The limit of a network: a wider one has several quotas. */
export function limitOfNetwork(limit: CountedLimit, { quotas }: Network): CountedLimit {
  if (quotas === 1) return limit
  const { burst, intervalUs } = limit
  return { ...limit, burst: burst * quotas, intervalUs: Math.ceil(intervalUs / quotas) }
}

function limitOf(name: LimitName, quota: number, burst: number): Limit {
  if (LIMITS[name].every === 'session')
    return {
      name,
      quota,
      burst: quota,
      intervalUs: LONGEST_SESSION_US,
      policy: `"${name}";q=${quota}`,
    }
  const inBursts = burst === quota ? '' : `;burst=${burst}`
  return {
    name,
    quota,
    burst,
    intervalUs: Math.ceil(MINUTE_US / quota),
    policy: `"${name}";q=${quota};w=60${inBursts}`,
  }
}

/** The default limits. */
export const USUAL_LIMITS = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, limitOf(name, LIMITS[name].quota, usualBurst(name))]),
) as Limits

function usualBurst(name: LimitName, quota: number = LIMITS[name].quota): number {
  const entry = LIMITS[name]
  return 'burst' in entry ? entry.burst : quota
}

/** The syntax of limits: `create=1200/200,get=240`, the quota and, after a slash, the burst. */
export const LIMITS_SYNTAX = `name=quota or name=quota/burst, several separated by commas; quota 1 to ${MAX_QUOTA}; names ${LIMIT_NAMES.join(', ')}`

/**
 * Parses limits. @returns undefined if the text does not follow the syntax or names a limit twice
 */
export function parseLimits(text: string): SomeLimits | undefined {
  const limits: Partial<Record<LimitName, Limit>> = {}
  for (const part of text.split(',')) {
    const [, word, quotaText, burstText] =
      /^ *([a-z_]+)=([1-9]\d{0,5})(?:\/([1-9]\d{0,5}))? *$/.exec(part) ?? []
    const name = LIMIT_NAMES.find((known) => known === word)
    if (name === undefined || name in limits || Number(quotaText) > MAX_QUOTA) return undefined
    if (burstText !== undefined && LIMITS[name].every === 'session') return undefined
    const quota = Number(quotaText)
    const burst = burstText === undefined ? usualBurst(name, quota) : Number(burstText)
    limits[name] = limitOf(name, quota, burst)
  }
  return limits
}

/** The rates of limits by name, each as its quota and burst: `{ get: '60/20' }`. */
export function ratesOf(limits: SomeLimits): Readonly<Record<string, string>> {
  const rates = Object.values(limits).map(({ name, quota, burst }) => [name, `${quota}/${burst}`])
  return Object.fromEntries(rates)
}

/** Writes limits in the syntax that `parseLimits` reads, which results in the same limits. */
export function formatLimits(limits: SomeLimits): string {
  return Object.values(limits)
    .map(({ name, quota, burst }) =>
      burst === quota && burst === usualBurst(name, quota)
        ? `${name}=${quota}`
        : `${name}=${quota}/${burst}`,
    )
    .join(',')
}
