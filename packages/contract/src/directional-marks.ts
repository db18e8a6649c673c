/**
 * Where a value may have the invisible marks U+200E, U+200F and U+061C, which set the direction of
 * the characters beside them. Numbers and words are drawn in another order if marks stand between
 * them, so a value with marks is one amount, one date or a list, as `Intl` writes it: no mark is
 * within a number, or between two of them.
 */

/**
 * A word of `shows`: the phone draws each label and value isolated, so that the marks of one
 * reorder no other.
 */
export const DIRECTIONAL_MARKS = 'directional_marks'

const M = '\\u200e\\u200f\\u061c'
const MARKS = `[${M}]{0,2}`
const D = '\\d\\u0660-\\u0669\\u06f0-\\u06f9'
/** Digits with separators that never change their order, such as 12,500.00. */
const NUMBER = `[${D}]+(?:[.,\\u066b\\u066c\\xa0\\u202f][${D}]+)*`
const SIGN = '[+\\u2212-]'
const TEXT = `[^${M}]*`
/** Text without a number. */
const WORDS = `[^${M}${D}]*`
/** A letter of a script that is written from right to left. */
const RTL = '(?=\\p{L})[\\u05d0-\\u08ff]'
/** The years of a currency that is no longer used, behind a word from right to left. */
const YEARS = `(?<=${RTL}) (?:- )?\\(?[${D}]{4}(?:-[${D}]{4})?\\)?`
const TIME = `[${D}]{1,2}(?::[${D}]{2}){1,2}`

const FORMS = [
  // An amount: ‏-12,500.50 ‏₪ or ‎-13‎%‎ or ‎−‎ریال ۱۲٬۵۰۰
  `\\(?${MARKS}\\(?(?:${SIGN}${MARKS})?(?:` +
    `${NUMBER}(?:${MARKS}[%\\u066a])?(?:[KMBT]${MARKS})?` +
    `(?:${MARKS}[ \\xa0\\u202f]?${MARKS}[\\p{L}\\p{Sc}\\xb0]${WORDS}(?:${YEARS})?)?` +
    `|${WORDS}${NUMBER}${WORDS})${MARKS}\\)?`,
  // A date from right to left: 20‏/5‏/2024. A year of two digits could be taken for the day.
  `(?:[${D}]{1,2}\\u200f/){2}[${D}]{4}(?:[,\\u060c] ${TIME}(?: ${WORDS}(?:${SIGN}[${D}]{1,2})?)?)?`,
  // A Hebrew date with GMT-4‎, and a Persian one with (‎−۴ گرینویچ)
  `${TEXT}GMT(?:[+-][\\d:]+)?\\u200e`,
  `(?:${TEXT}\\p{L}[^${M}(]*|(?:[${D}/]+[,\\u060c] )?${TIME} )\\(\\u200e${SIGN}[${D}:]+ ${WORDS}\\)`,
  // A list: علی،‏ مریم، و رضا
  `(?:${TEXT}${RTL}\\p{M}*\\u060c\\u200f(?= ${RTL}))+${TEXT}`,
]

const PERMITTED = new RegExp(`^(?:${FORMS.join('|')})$`, 'u')
const ANY = new RegExp(`[${M}]`)
const ALL = new RegExp(ANY, 'g')

/** Whether a text has a directional mark. */
export function hasDirectionalMark(text: string): boolean {
  return ANY.test(text)
}

/** Whether all directional marks of a value are where they change the order of nothing. */
export function areMarksPermitted(text: string): boolean {
  return !hasDirectionalMark(text) || PERMITTED.test(text)
}

/** The same text with each directional mark replaced. */
export function replaceMarks(text: string, replacement: string): string {
  return text.replace(ALL, replacement)
}
