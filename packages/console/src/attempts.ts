import { createHmac, randomBytes } from 'node:crypto'

/** As long as a sign-in may take. */
export const ATTEMPT_SECONDS = 600
/** Far more than people sign in within that time. The oldest is deleted beyond it. */
const MAX_USED = 1_000
/** A path of this console with its query, and no other address. */
const PATH = /^\/(?![/\\])[\w\-.~/?=&%+:@]{0,500}$/

/** A sign-in that a browser has begun. */
export interface Attempt {
  readonly startedAt: number
  /** Whether the operator must enter a credential again. */
  readonly isFresh: boolean
  /** The page that it returns to. */
  readonly to: string
  /** A secret of this attempt: 256 bits, base64url. */
  readonly secret: (name: string) => string
}

/**
 * The attempts to sign in. All secrets of one are derived from its cookie, so that the console
 * stores nothing when one begins. A changed cookie gives other secrets, with which it fails.
 */
export class Attempts {
  readonly #key = randomBytes(32)
  readonly #now: () => number
  /** The cookies of attempts that were used, oldest first, until they are too old. */
  readonly #used = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** @returns the value of the cookie */
  begin(query: URLSearchParams): string {
    const to = pathIn(query.get('to') ?? '')
    return [
      randomBytes(32).toString('base64url'),
      this.#now(),
      query.has('fresh') ? 'fresh' : 'any',
      Buffer.from(to).toString('base64url'),
    ].join('.')
  }

  /** The attempt of a cookie; undefined if it is too old. */
  read(cookie: string): Attempt | undefined {
    const [, startedAt, freshness, to = ''] = cookie.split('.')
    const attempt = {
      startedAt: Number(startedAt),
      isFresh: freshness === 'fresh',
      to: pathIn(Buffer.from(to, 'base64url').toString()),
      secret: (name: string) =>
        createHmac('sha256', this.#key).update(`${name} ${cookie}`).digest('base64url'),
    }
    return this.#now() < attempt.startedAt + ATTEMPT_SECONDS * 1_000 ? attempt : undefined
  }

  /** Whether an attempt was not used before. From then on, it was. */
  use(cookie: string): boolean {
    const now = this.#now()
    for (const [used, until] of this.#used) if (until <= now) this.#used.delete(used)
    if (this.#used.has(cookie)) return false
    const [oldest] = this.#used.keys()
    if (this.#used.size >= MAX_USED && oldest !== undefined) this.#used.delete(oldest)
    this.#used.set(cookie, now + ATTEMPT_SECONDS * 1_000)
    return true
  }
}

function pathIn(text: string): string {
  return PATH.test(text) ? text : '/'
}
