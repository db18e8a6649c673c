/** Delays that grow with each failed attempt, up to a limit. */
export interface BackoffPolicy {
  /** The delay after the first attempt, in milliseconds. */
  readonly firstMs: number
  /** Each further delay is so many times the one before. */
  readonly factor: number
  /** The longest delay, in milliseconds. */
  readonly longestMs: number
  /**
   * The random share of a delay, from 0 (none) to 1 (all of it). It keeps clients that failed
   * together from returning together.
   */
  readonly jitter: number
}

/**
 * The delay before the next attempt, in milliseconds.
 *
 * @param attempt the number of attempts made, at least 1
 * @param random a number from 0 up to but not including 1. It is not called without jitter.
 */
export function backoffMs(
  { firstMs, factor, longestMs, jitter }: BackoffPolicy,
  attempt: number,
  random: () => number = Math.random,
): number {
  const delayMs = Math.min(longestMs, firstMs * factor ** (attempt - 1))
  return jitter === 0 ? delayMs : Math.floor(delayMs * (1 - jitter + jitter * random()))
}
