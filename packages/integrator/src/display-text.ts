import {
  areLabelsDistinct,
  type GivenContext,
  hasDirectionalMark,
  isDisplayText,
  isDisplayValue,
  PERMITTED_JOINER,
} from '@bonded/contract'

/**
 * What {@link displayText} changed: `spaces` made one space of several, or of a line break or tab;
 * `invisible` removed characters without a glyph; `marks` removed directional marks that would
 * reorder the text; `empty` wrote a dash in place of nothing.
 */
export type DisplayTextChange = 'spaces' | 'invisible' | 'marks' | 'empty'

/** A text that was cleaned, and how. */
export interface CleanedText {
  readonly text: string
  /** Empty if the text is the given one. */
  readonly changes: readonly DisplayTextChange[]
}

interface DisplayTextOptions {
  /** False removes all directional marks, for phone apps that do not isolate values. */
  readonly marks?: boolean
  /** What an empty text becomes: a dash, unless you choose other text. */
  readonly empty?: string
}

const CONTROL_SPACE = /[\t\n\v\f\r\u0085\u2028\u2029]/g
const SPACES = /\p{White_Space}{2,}/gu
/**
 * Joiners, variation selectors and tags that have no glyph, but the characters beside them are
 * drawn in another way with them: beside a sign or another one, in scripts whose letters join, and
 * in the flag of a region.
 */
const CURSIVE = ['Syrc', 'Mong', 'Nkoo', 'Adlm', 'Rohg', 'Khmr', 'Mymr', 'Tibt']
  .map((script) => `\\p{sc=${script}}`)
  .join('')
const JOINER = '\\u200c\\u200d'
const SHAPING =
  `[${JOINER}](?=[\\p{M}\\p{EMod}${JOINER}${CURSIVE}])|(?<=[\\p{Mc}${CURSIVE}]\\p{M}*)[${JOINER}]` +
  `|(?<=[${JOINER}])[${JOINER}\\p{VS}]|\\u200d(?=\\p{sc=Arab})|(?<=\\p{sc=Arab}\\p{M}*)\\u200d` +
  '|(?<=\\u{1f3f4}[\\u{e0020}-\\u{e007e}]{0,6})[\\u{e0020}-\\u{e007f}]'
/** A key that was pressed twice. */
const DOUBLED = /\u200c{2,}/g
/** No glyph is drawn for these. Characters that some fonts draw are yours to decide on. */
const INVISIBLE = new RegExp(
  `(?!${PERMITTED_JOINER}|${SHAPING})(?![\\u200e\\u200f\\u061c])` +
    '[\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\p{Variation_Selector}' +
    '\\u2800\\ufffc\\u{1d159}\\u{13441}\\u{13442}]',
  'gu',
)
const MARKS = /[\u200e\u200f\u061c]/g
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u
const DASH = '—'

/**
 * The same text as a phone may show it, changed as little as possible: two spaces, the line breaks
 * of a text area, pasted invisible characters, and an empty field. It removes nothing that changes
 * what a user sees, so a text that is too long, or has characters that phones draw differently,
 * stays as it is, and the service rejects it.
 *
 * @example displayText('12 High Street\r\nLondon') // { text: '12 High Street London', changes: ['spaces'] }
 */
export function displayText(text: string, options: DisplayTextOptions = {}): CleanedText {
  const { marks = true, empty = DASH } = options
  const changes = new Set<DisplayTextChange>()
  let cleaned = text
  const change = (name: DisplayTextChange, next: string) => {
    if (next !== cleaned) changes.add(name)
    cleaned = next
  }
  const fits = () => isDisplayValue(cleaned) && (marks || !hasDirectionalMark(cleaned))
  if (fits()) return { text, changes: [] }
  change('spaces', cleaned.replace(CONTROL_SPACE, ' '))
  change('invisible', cleaned.replace(DOUBLED, '\u200c'))
  // A joiner can lose its context to a removal beside it.
  for (let last = ''; last !== cleaned; ) {
    last = cleaned
    change('invisible', cleaned.replace(INVISIBLE, ''))
  }
  change('spaces', cleaned.replace(SPACES, ' '))
  if (changes.has('spaces')) cleaned = cleaned.trim()
  if (!fits()) change('marks', cleaned.replace(MARKS, ''))
  change('spaces', cleaned.replace(SPACES, ' '))
  if (!VISIBLE.test(cleaned)) change('empty', empty)
  return { text: cleaned, changes: [...changes] }
}

/** The pairs of a form as phones may show them, or the first one that they may not. */
export type FormDisplay =
  | { readonly display: GivenContext['display'] }
  | {
      readonly param: string
      readonly label: string | undefined
      /** What is wrong with it, as a part of a sentence. */
      readonly problem: string
    }

const MAX_PAIRS = 8
const MAX_LABEL = 64
const MAX_VALUE = 256

/** Cleans each label and value. A missing value of an optional field counts as empty. */
export function cleanDisplay(given: GivenContext['display']): FormDisplay {
  const display = given.map(({ label, value }) => ({
    label: cleaned(label, { marks: false, empty: '' }),
    value: cleaned(value),
  }))
  if (display.length > MAX_PAIRS)
    return {
      param: 'context.display',
      label: undefined,
      problem: `a phone shows at most ${MAX_PAIRS} of them`,
    }
  for (const [index, { label, value }] of display.entries()) {
    const at = (member: string, problem: string) => {
      return { param: `context.display.${index}.${member}`, label, problem }
    }
    if (!isShort(label, MAX_LABEL)) return at('label', tooLong(MAX_LABEL))
    if (!isDisplayText(label)) return at('label', label === '' ? 'it has no label' : NOT_SHOWN)
    if (!isShort(value, MAX_VALUE)) return at('value', tooLong(MAX_VALUE))
    if (!isDisplayValue(value)) return at('value', NOT_SHOWN)
    if (!areLabelsDistinct(display.slice(0, index + 1)))
      return at('label', 'another field has the same label')
  }
  return { display }
}

function cleaned(text: unknown, options?: DisplayTextOptions): string {
  return displayText(String(text ?? ''), options).text
}

const NOT_SHOWN = 'it has characters that phones draw differently'

function tooLong(max: number): string {
  return `it is longer than ${max} characters`
}

function isShort(text: string, max: number): boolean {
  return Array.from(text).length <= max
}
