/** What is written from right to left: letters, their digits and punctuation. */
const R =
  '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]'
const REST = `(?:${R}|[\\p{M}\\u200c\\u200d])*`
/** Words with single spaces between them, or one number: two would swap their places. */
const RUN = new RegExp(`((?=\\p{L})${R}${REST}(?: ${R}${REST})*|(?:(?!\\p{L})${R})+)`, 'u')

/**
 * A line of a request's text in parts: every second one is written from right to left. Isolate it,
 * as with `<bdi>` or U+2068 and U+2069, so that it moves nothing beside it.
 *
 * @example textRuns('"name": "משה כהן"') // ['"name": "', 'משה כהן', '"']
 */
export function textRuns(line: string): readonly string[] {
  return line.split(RUN)
}
