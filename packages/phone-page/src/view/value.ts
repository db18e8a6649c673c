import { isAmount } from '@bonded/contract'
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
