import { LIMIT_NAMES, LIMITS, type LimitName } from '@bonded/contract'

/** So many in a time, and so many at once: a bucket of `burst`, into which one more comes every `intervalUs`. */
export interface Limit {
  readonly name: LimitName
  readonly quota: number
  readonly burst: number
  /** Rounded up, so that the rate is never above what was asked for. In milliseconds 7 a minute would be 6 or 8. */
  readonly intervalUs: number
  /** The limit as `RateLimit-Policy` tells it. It is told with every answer and never changes. */
  readonly policy: string
}

export type Limits = Readonly<Record<LimitName, Limit>>
/** Some limits, in the place of the usual ones. */
export type SomeLimits = Partial<Limits>

const MINUTE_US = 60_000_000
/** The longest time a session can wait for its phone: no new one comes into a session's bucket before. */
const LONGEST_SESSION_US = 900_000_000
/** At 10,000 a second the rounding of the interval still costs less than one in a hundred. */
const MAX_QUOTA = 600_000

/** The tenant is known before these are counted; the others are about phones and addresses, which belong to nobody. */
export const TENANT_LIMITS: readonly LimitName[] = ['create', 'create_address', 'get']

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

/** The limits of the contract. */
export const USUAL_LIMITS = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, limitOf(name, LIMITS[name].quota, usualBurst(name))]),
) as Limits

function usualBurst(name: LimitName, quota: number = LIMITS[name].quota): number {
  const entry = LIMITS[name]
  return 'burst' in entry ? entry.burst : quota
}

/** How limits are written: `create=1200/200,get=240`, the quota and, behind a slash, the burst. */
export const LIMITS_SYNTAX = `name=quota or name=quota/burst, several separated by commas; quota 1 to ${MAX_QUOTA}; names ${LIMIT_NAMES.join(', ')}`

/** The limits of a text; undefined where it is not one, or names one twice. */
export function parseLimits(text: string): SomeLimits | undefined {
  const limits: Partial<Record<LimitName, Limit>> = {}
  for (const part of text.split(',')) {
    const [, word, quotaText, burstText] =
      /^ *([a-z_]+)=([1-9]\d{0,5})(?:\/([1-9]\d{0,5}))? *$/.exec(part) ?? []
    const name = LIMIT_NAMES.find((known) => known === word)
    if (name === undefined || name in limits || Number(quotaText) > MAX_QUOTA) return undefined
    if (burstText !== undefined && LIMITS[name].every === 'session') return undefined
    const quota = Number(quotaText)
    limits[name] = limitOf(
      name,
      quota,
      burstText === undefined ? usualBurst(name, quota) : Number(burstText),
    )
  }
  return limits
}

/** The limits as `parseLimits` reads them. */
export function formatLimits(limits: SomeLimits): string {
  return Object.values(limits)
    .map(({ name, quota, burst }) =>
      burst === quota ? `${name}=${quota}` : `${name}=${quota}/${burst}`,
    )
    .join(',')
}
