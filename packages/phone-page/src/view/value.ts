import { element } from './dom.ts'
import { verbatim } from './verbatim.ts'

/** A word of letters and digits without an end that a user sees, such as an account number. */
const LONG_IDENTIFIER = /(?<![\p{L}\p{N}])([0-9A-Za-z]{12,})(?![\p{L}\p{N}])/u
const GROUP = /.{1,4}/g
/** An identifier has at least as many. A long word of a text has fewer. */
const MIN_DIGITS = 4

/**
 * A value as nodes, without a change to its characters. Long identifiers are drawn in groups of
 * four, as on a bank card, so that a user can compare them.
 */
export function grouped(value: string): (Node | string)[] {
  if (isAmount(value)) return verbatim(value)
  return value.split(LONG_IDENTIFIER).flatMap((part, index): (Node | string)[] => {
    if (index % 2 === 0 || (part.match(/\d/g)?.length ?? 0) < MIN_DIGITS) return verbatim(part)
    const groups = (part.match(GROUP) ?? []).map((group) => element('span', {}, group))
    // The groups are boxes, whose order would otherwise be that of the text around them.
    return [element('bdi', { class: 'identifier', dir: 'ltr' }, ...groups)]
  })
}

const MAX_AMOUNT_LENGTH = 32
/** A sign of a currency, its code, or an abbreviation that a country writes in its place. */
const CURRENCY =
  /[A-Z]{0,3}\p{Sc}[A-Z]{0,3}|(?<![\p{L}.])(?:[A-Z]{3}|[NID]?kr|Kč|zł|Ft|lei|Lekë|Rs|лв|元|ریال|\p{L}\.\p{L})\.?(?!\p{L})/u
/** What else an amount consists of. */
const FIGURES = /^[\p{Nd}\s.,'’٫٬+\-−\u200e\u200f\u061c]*$/u

/** Whether a value is an amount of money, as a bank or `Intl` writes it. */
export function isAmount(value: string): boolean {
  const rest = value.replace(CURRENCY, '')
  return (
    value.length <= MAX_AMOUNT_LENGTH &&
    rest !== value &&
    /\p{Nd}/u.test(value) &&
    FIGURES.test(rest)
  )
}
