import { escapeUnits } from '@bonded/contract'
import {
  ASCII_LOOKALIKES,
  EAST_ASIAN_MARKS,
  LATIN_LETTERS,
  TOP_LEVEL_LABELS,
  USUAL_MARKS,
} from './lookalikes-table.ts'

/** Scripts without blanks between words. Their letters end an address, unless they look ASCII. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
/** Compatibility forms that are usual beside East Asian letters: fullwidth, circled and squared. */
const EAST_ASIAN_FORM = /[\u2460-\u24ff\u3000-\u33ff\ufe30-\ufe6f\uff01-\uffef]/
const EAST_ASIAN = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Bopo}]/u
const ASCII = /^[ -~]+$/
/** A letter, mark or symbol that looks like no ASCII, in a folded text. */
const OTHER = '\u00df'
/** An escape of JSON. Its letters do not belong to a word. */
const ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g
const TOKEN = /[^\s",]+/g
/** Brackets, quotes and full stops around an address do not belong to it. */
const BEFORE = /^[()[\]{}<>'.:;!?]*/
const AFTER = /[()[\]{}<>'.:;!?]*$/
const PART = /[0-9A-Za-z\u00df]{4,}/g
const IBAN =
  /(?<![0-9a-z\u00df])[a-z]{2}[0-9lo]{2}(?: ?[0-9a-z]{4}){2,7}(?: ?[0-9a-z]{1,4})?(?![0-9a-z\u00df])/gi
const LABEL = /[.]([^\s./:?#@()[\]'"-]+)/g
const MIN_LETTERS = 4
const LATIN = /\p{Script=Latin}/u
/** Scripts whose letters pass for each other. */
const ALIKE = [LATIN, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u, /\p{Script=Armenian}/u]
/** Letters of no single script, such as the apostrophe of Uzbek and the micro sign, are usual. */
const NOT_LATIN = /(?![\p{Script=Latin}\p{Script=Common}])\p{L}/u
const OF_LATIN = /[\p{scx=Latin}\p{scx=Common}]/u
const NOT_LATIN_ALL = new RegExp(NOT_LATIN, 'gu')
/** An escape, or a word. Latin letters within Chinese, Japanese or Korean words are usual. */
const WORDS = new RegExp(`${ESCAPE.source}|(?:(?!${UNSPACED.source})[\\p{L}\\p{M}\\p{N}])+`, 'gu')

interface Tables {
  readonly ascii: ReadonlyMap<string, string>
  readonly labels: ReadonlySet<string>
}
let tables: Tables | undefined

/** Made at the first use, so that an import does not wait for it. */
function tablesOnce(): Tables {
  const text = (codes = '') =>
    String.fromCodePoint(...codes.split('+').map((code) => Number.parseInt(code, 16)))
  return (tables ??= {
    ascii: new Map(
      ASCII_LOOKALIKES.trim()
        .split(/\s/)
        .flatMap((record) => {
          const [target, sources = ''] = record.split(':')
          return sources.split(',').map((source) => [text(source), text(target)] as const)
        }),
    ),
    labels: new Set(
      TOP_LEVEL_LABELS.trim()
        .split(/\s/)
        .flatMap((label) => [label, alike(label)]),
    ),
  })
}

/** The same for labels that differ in letters which look alike in ASCII already. */
function alike(label: string): string {
  return label.toLowerCase().replaceAll('rn', 'm').replaceAll(/[i1|]/g, 'l').replaceAll('0', 'o')
}

/** The ASCII text that a character looks like. Empty where it looks like none. */
function asciiOf(one: string): string {
  const plain = one.normalize('NFKC')
  const { ascii } = tablesOnce()
  return ASCII.test(plain) ? plain : (ascii.get(one) ?? ascii.get(plain) ?? '')
}

/** One character of ASCII for each, so that places stay: blanks, quotes and letters among them. */
function fold(one: string): string {
  if (ASCII.test(one)) return one
  if (/[\p{Pi}\p{Pf}\u201e]/u.test(one) && !/[\u2018\u2019]/.test(one)) return '"'
  if (/[\u3002\uff61]/.test(one)) return '.'
  const ascii = asciiOf(one)
  if (ascii === '') return /\s/.test(one) || UNSPACED.test(one) ? ' ' : OTHER
  // Neither the end of a token nor an escape: what looks like them is part of an address.
  if (/^[,\\]/.test(ascii) && one !== '\uff0c') return '/'
  return ascii === 'rn' ? 'm' : ((/[0-9A-Za-z]/.exec(ascii) ?? ascii)[0] ?? OTHER)
}

/** Whether a character imitates ASCII anywhere: its form, or punctuation that no language has. */
function isImitation(one: string, isEastAsian: boolean): boolean {
  if (ASCII.test(one) || USUAL_MARKS.includes(one)) return false
  const ascii = asciiOf(one)
  const isForm = /[\p{L}\p{N}]/u.test(one) && ASCII.test(one.normalize('NFKC'))
  if (!isForm && !/[^0-9A-Za-z]/.test(ascii)) return false
  return !(isEastAsian && (EAST_ASIAN_MARKS.includes(one) || EAST_ASIAN_FORM.test(one)))
}

/** Whether a token without blanks has the shape of an address, as a user reads it. */
function isAddress(token: string, letters: readonly string[]): boolean {
  if (/.@|@.|:\/\//.test(token)) return true
  const { labels } = tablesOnce()
  return Array.from(token.matchAll(LABEL)).some(({ 1: label = '', index }) => {
    // Other scripts in lower case only: in г.Москва, a name follows an abbreviation.
    const written = letters.slice(index + 1, index + 1 + label.length).join('')
    return label.length > 1 && (labels.has(alike(label)) || labels.has(written))
  })
}

/** Whether a word of ASCII letters, as a user reads it, is written with others. */
function isImitatedWord(word: string, letters: readonly string[]): boolean {
  const isForeign = (one: string, at: number) =>
    !ASCII.test(one) &&
    !LATIN_LETTERS.includes(one) &&
    !(USUAL_MARKS.includes(one) && OF_LATIN.test(one)) &&
    // A symbol at the end, such as ™, is not a letter.
    (at < letters.length - 1 || /[\p{L}\p{N}]/u.test(one))
  const count = word.match(/[A-Za-z]/g)?.length ?? 0
  return count >= MIN_LETTERS && !word.includes(OTHER) && letters.some(isForeign)
}

/**
 * The same line with everything as `\uXXXX` that could pass for ASCII: what is not ASCII in an
 * address, a word of a Latin line whose letters all look like ASCII, letters of other scripts in a
 * Latin word, compatibility forms, and look-alikes of punctuation. Names and sentences of all
 * languages stay as they are.
 */
export function escapeLookalikes(line: string): string {
  if (ASCII.test(line)) return line
  const letters = Array.from(line)
  const folded = letters
    .map(fold)
    .join('')
    .replaceAll(ESCAPE, (part) => ' '.repeat(part.length))
  const isPlain = (at: number) => folded[at] === OTHER || folded[at] === ' '
  const isEastAsian = letters.some((one, at) => isPlain(at) && EAST_ASIAN.test(one))
  const escaped = letters.map((one) => isImitation(one, isEastAsian))
  const escape = (start: number, length: number) => {
    for (let at = start; at < start + length; at += 1) escaped[at] ||= letters[at]! > '~'
  }
  for (const { 0: iban, index } of folded.matchAll(IBAN))
    if (/\d\d/.test(iban)) escape(index, iban.length)
  // A word that imitates a Latin one does not make its line foreign.
  const isLatin =
    letters.some((one) => /\p{sc=Latin}/u.test(one)) &&
    !letters.some((one, at) => isPlain(at) && NOT_LATIN.test(one))
  for (const { 0: whole, index } of folded.matchAll(TOKEN)) {
    const start = index + (BEFORE.exec(whole)?.[0].length ?? 0)
    const token = whole.slice(start - index).replace(AFTER, '')
    const lettersOf = (at: number, part: string) =>
      letters.slice(start + at, start + at + part.length)
    if (isAddress(token, lettersOf(0, token))) escape(start, token.length)
    const parts = isLatin ? [{ 0: token, index: 0 }, ...token.matchAll(PART)] : []
    for (const { 0: part, index: at } of parts)
      if (isImitatedWord(part, lettersOf(at, part))) escape(start + at, part.length)
  }
  return letters
    .map((one, at) => (escaped[at] ? escapeUnits(one) : one))
    .join('')
    .replace(WORDS, (word) => (isMixed(word) ? word.replaceAll(NOT_LATIN_ALL, escapeUnits) : word))
}

/** Whether a word has letters of two scripts that pass for each other, or others beside Latin. */
function isMixed(word: string): boolean {
  if (word.startsWith('\\')) return false
  const scripts = ALIKE.filter((script) => script.test(word)).length
  return scripts > 1 || (LATIN.test(word) && NOT_LATIN.test(word))
}
