/** Finds lone surrogates: with the flag u, one matches only where it has no partner. */
const LONE_SURROGATE = /[\uD800-\uDFFF]/u

/**
 * Whether a text has no lone surrogate. `String.prototype.isWellFormed` is newer than the oldest
 * browsers, and Hermes lacks it.
 *
 * @example isWellFormed('a\ud83d') // false
 */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}
