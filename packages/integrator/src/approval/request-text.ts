import { escapeRejectedJson, escapeUnits, isDisplayLines } from '@bonded/contract'
import { ApprovalError } from './errors.ts'

/** An escape of JSON, so that its letters are not read as a word, or a word. */
const PARTS = /\\(?:u[0-9a-f]{4}|.)|[\p{L}\p{M}\p{N}]+/gu
const LATIN = /\p{Script=Latin}/u
/** Scripts whose letters pass for each other. */
const ALIKE = [LATIN, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u, /\p{Script=Armenian}/u]
const NOT_LATIN = /(?!\p{Script=Latin})\p{L}/gu

/**
 * The text that the phone shows: the arguments as indented JSON. Every character that a text must
 * not have, and every letter that could pass for a Latin one, is written as `\uXXXX`. So the text
 * reads the same everywhere, and parses to the same arguments.
 *
 * @throws {ApprovalError} `text_too_long` for more than 8,192 bytes or 200 lines
 */
export function requestText(args: object): string {
  const json = JSON.stringify(args, null, 2).replace(PARTS, (part) =>
    isMixed(part) ? part.replace(NOT_LATIN, escapeUnits) : part,
  )
  const text = escapeRejectedJson(json)
  if (!isDisplayLines(text))
    throw new ApprovalError(
      'text_too_long',
      'The arguments need more than 8,192 bytes or 200 lines. Split the action, or approve a summary whose parts the action looks up.',
    )
  return text
}

function isMixed(word: string): boolean {
  if (word.startsWith('\\')) return false
  const scripts = ALIKE.filter((script) => script.test(word)).length
  return scripts > 1 || (LATIN.test(word) && word.search(NOT_LATIN) !== -1)
}
