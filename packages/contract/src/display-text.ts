import { areMarksPermitted, replaceMarks } from './directional-marks.ts'
import { PERMITTED_JOINER, withoutJoiners } from './joiners.ts'

/**
 * Text that a user reads before approving: labels, values and the lines of a context, and tenant
 * names. It must read the same on every phone, so nothing in it may hide, reorder, cover or imitate
 * another part.
 */

/**
 * Characters that are invisible, change the characters around them, or have no glyph: controls,
 * format characters, private use, unassigned, separators, and Default_Ignorable_Code_Point.
 */
const HIDDEN =
  '[\\p{C}\\p{Zl}\\p{Zp}\\p{DI}' +
  // Letters and symbols whose glyph is blank: Braille, object replacement, music, hieroglyphs.
  '\\u2800\\ufffc\\u{1d159}\\u{13441}\\u{13442}]'

/**
 * Two spaces and more: a phone breaks the line within them, so that a value could draw rows. One
 * ideographic space (U+3000) is usual in Japanese.
 */
const SPACES = '\\p{space}{2,}'

/**
 * Marks that pile up over their neighbors: more than two that belong to no script, the same mark
 * three times, or more than four at all. Burmese and Hindi words need up to four marks of their own
 * script on one letter.
 */
const STACKED = '(?:(?=\\p{sc=Zinh})\\p{M}){3,}|(\\p{M})\\1{2,}|\\p{M}{5,}'

/** A letter, number, punctuation mark or symbol. The rule above excludes blank ones. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u

/**
 * White space beside other white space, except a run of spaces and line breaks: a phone draws each
 * line of a text with its number and in a fixed width, so these can imitate nothing.
 */
const UNUSUAL_SPACES = '(?![ \\n])\\p{space}(?=\\p{space})|[ \\n](?![ \\n])\\p{space}'

const REJECTED = new RegExp(`(?!${PERMITTED_JOINER})${HIDDEN}|${SPACES}|${STACKED}`, 'gu')
const REJECTED_IN_LINES = new RegExp(
  `(?!${PERMITTED_JOINER}|\\n)${HIDDEN}|${UNUSUAL_SPACES}|${STACKED}`,
  'gu',
)
const ALL_HIDDEN = new RegExp(HIDDEN, 'gu')

/** The name of the rule in a JSON schema (`format`). */
export const DISPLAY_TEXT = 'display-text'
/** The name of the rule for the value of a pair. */
export const DISPLAY_VALUE = 'display-value'
/** The name of the rule for a text of several lines. */
export const DISPLAY_LINES = 'display-lines'

/** The largest text of several lines, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 8_192
/** The most lines of a text. */
export const MAX_TEXT_LINES = 200

/** The most characters of the note of a decline. */
export const MAX_NOTE_LENGTH = 200

/**
 * Whether a text may be shown to a user who decides by it. It has a visible character, none that is
 * hidden, blank, reorders text or has no fixed glyph (controls, bidi, zero-width, tags, fillers,
 * private use, unassigned), no run of white space, and no pile of combining marks. Joiners and
 * variation selectors may be where the spelling needs them.
 *
 * @example isDisplayText('€ 12,500.00') // true
 * @example isDisplayText('\u202e00.005,21 €') // false
 */
export function isDisplayText(text: string): boolean {
  return VISIBLE.test(text) && text.search(REJECTED) === -1
}

/**
 * The same for the value of a pair, which phones isolate: an amount, a date or a list may have the
 * directional marks of its language.
 *
 * @example isDisplayValue('\u200f12,500.00 \u200f₪') // true
 * @example isDisplayValue('\u200f1234 5678') // false: it would read 5678 1234
 */
export function isDisplayValue(value: string): boolean {
  return isDisplayText(replaceMarks(value, '')) && areMarksPermitted(value)
}

/**
 * The same for a text of several lines, which phones draw in a fixed width with line numbers: line
 * breaks (U+000A) and runs of spaces are permitted.
 *
 * @example isDisplayLines('{\n  "amount": 12\n}') // true
 * @example isDisplayLines('a\r\nb') // false
 */
export function isDisplayLines(text: string): boolean {
  return (
    VISIBLE.test(text) &&
    text.search(REJECTED_IN_LINES) === -1 &&
    text.split('\n').length <= MAX_TEXT_LINES &&
    // A lone surrogate, which this cannot encode, is hidden.
    encodeURIComponent(text).replaceAll(/%../g, '%').length <= MAX_TEXT_BYTES
  )
}

/**
 * The same text with a U+FFFD for each part that `isDisplayText` rejects. For a phone, which shows
 * the text of a service that does not follow the rule.
 *
 * @example sanitizeDisplayText('Pay\u200bPal') // 'Pay\ufffdPal'
 */
export function sanitizeDisplayText(text: string): string {
  return replaceEach(text, REJECTED, () => '\ufffd')
}

/** The same for a text of several lines. */
export function sanitizeDisplayLines(text: string): string {
  return replaceEach(text, REJECTED_IN_LINES, () => '\ufffd')
}

function replaceEach(text: string, rejected: RegExp, by: (part: string) => string): string {
  // A joiner can lose its context to a replacement beside it.
  for (let shown = text; ; ) {
    const next = shown.replace(rejected, by)
    if (next === shown) return shown
    shown = next
  }
}

/** The same for the value of a pair. */
export function sanitizeDisplayValue(value: string): string {
  return isDisplayValue(value) ? value : sanitizeDisplayText(value)
}

/**
 * Whether no two labels read alike, apart from case, width, spacing, joiners and composition. With
 * two rows "Amount" a user cannot know which one counts.
 *
 * @example areLabelsDistinct([{ label: 'Amount' }, { label: 'amount ' }]) // false
 */
export function areLabelsDistinct(display: readonly { readonly label: string }[]): boolean {
  const folded = display.map(({ label }) =>
    withoutJoiners(label.normalize('NFKC')).replaceAll(/\s+/g, ' ').trim().toLowerCase(),
  )
  return new Set(folded).size === folded.length
}

/**
 * One line of text for a terminal: hidden characters, line breaks and escape sequences among them,
 * are written as `\u{…}`.
 *
 * @example escapeHidden('\u001b[2J') // '\\u{1b}[2J'
 */
export function escapeHidden(line: string): string {
  return line.replace(ALL_HIDDEN, (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`)
}

/**
 * The same JSON value with hidden characters as `\uXXXX`, so that a terminal can print it. Line
 * breaks between members stay.
 *
 * @example escapeHiddenJson('"\u202e"') // '"\\u202e"'
 */
export function escapeHiddenJson(json: string): string {
  return json.replace(ALL_HIDDEN, (hidden) => (hidden === '\n' ? hidden : escapeUnits(hidden)))
}

/**
 * The same JSON value with everything as `\uXXXX` that {@link isDisplayLines} rejects, so that a
 * phone can show it.
 *
 * @example escapeRejectedJson('"a\u00a0\u00a0b"') // '"a\\u00a0\u00a0b"'
 */
export function escapeRejectedJson(json: string): string {
  return replaceEach(json, REJECTED_IN_LINES, escapeUnits)
}

/** Characters as the escapes of JSON. */
export function escapeUnits(text: string): string {
  return text.split('').map(escapeUnit).join('')
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
