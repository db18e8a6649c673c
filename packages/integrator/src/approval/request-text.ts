import { escapeRejectedJson, escapeUnits, isDisplayLines } from '@bonded/contract'
import { ApprovalError } from './errors.ts'
import { escapeLookalikes } from './lookalikes.ts'

const STRINGS = /"(?:\\.|[^"\\])*"/g
/** All but the first blank or apostrophe of a run, which could draw a row or a quotation mark. */
const REPEATED = /(?<=\s)\s|(?<=')'/g

/**
 * The text that the phone shows: the arguments as indented JSON. Every character that a text must
 * not have, each blank or apostrophe after another one in a string, and everything that could pass
 * for ASCII, is written as `\uXXXX`. So the text reads the same everywhere, and parses to the same
 * arguments.
 *
 * @throws {ApprovalError} `text_too_long` for more than 8,192 bytes or 200 lines
 */
export function requestText(args: object): string {
  const json = JSON.stringify(args, null, 2).replace(STRINGS, (string) =>
    string.replace(REPEATED, escapeUnits),
  )
  const text = escapeRejectedJson(json.split('\n').map(escapeLookalikes).join('\n'))
  if (!isDisplayLines(text))
    throw new ApprovalError(
      'text_too_long',
      'The arguments need more than 8,192 bytes or 200 lines. Split the action, or approve a summary whose parts the action looks up.',
    )
  return text
}
