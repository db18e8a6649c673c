import { element } from './dom.ts'

/** White space, and characters whose glyph is blank. */
const BLANK = '[\\s\\u2800\\u{1d159}\\u{13441}\\u{13442}]'
/** Blanks that texts of some languages use one at a time, in numbers and between words. */
const USUAL = '[ \\u00a0\\u2009\\u202f\\u3000]'
const UNUSUAL = new RegExp(`(${BLANK}{2,}|(?!${USUAL})${BLANK})`, 'u')

/**
 * A text as nodes, without a change to its characters. Each blank of a run, and each unusual one,
 * is drawn as a visible mark: a row of spaces would otherwise break the line, and the rest of a
 * payee's name could look like a row of its own.
 */
export function verbatim(text: string): (Node | string)[] {
  return text
    .split(UNUSUAL)
    .flatMap((part, index): (Node | string)[] =>
      index % 2 === 0
        ? [part]
        : Array.from(part, (blank) => element('span', { class: 'blank' }, blank)),
    )
}
