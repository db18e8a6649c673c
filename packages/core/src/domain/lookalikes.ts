import { withoutJoiners } from '@bonded/contract'
import { ALPHABETS, CONFUSABLES } from './confusables-table.ts'

/**
 * The recommended scripts (UAX 31, table 5). Text of any other script is rare enough to be used for
 * imitation only.
 */
const SCRIPTS =
  `Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi
  Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil
  Telugu Thaana Thai Tibetan`.split(/\s+/)

/** The scripts that one word may mix at the level Highly Restrictive (UTS 39, section 5.2). */
const MIXTURES = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
]

const PROFILES = [...SCRIPTS.map((script) => [script]), ...MIXTURES].map(
  (scripts) =>
    new RegExp(
      `^[${['Common', 'Inherited', ...scripts].map((script) => `\\p{scx=${script}}`).join('')}]*$`,
      'u',
    ),
)

/** Small capitals, phonetic letters, and all other Latin letters that are in no alphabet. */
const UNLISTED = new RegExp(`(?![a-z${ALPHABETS}])\\p{sc=Latin}`, 'u')

/** Whether each Latin letter of a text is in the alphabet of a language, also with an accent. */
export const isListed = (text: string) => !UNLISTED.test(text.normalize('NFKD').toLowerCase())

const ASCII = /^[ -~]*$/
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}]+/u
/** What does not count when two labels are compared: white space, punctuation, most symbols. */
const UNCOUNTED = /[^\p{L}\p{M}\p{N}\p{Sc}]+/gu

/**
 * Whether each word of a text is at UTS 39's level Highly Restrictive: of one recommended script,
 * or of a mixture that is usual in Chinese, Japanese and Korean. Word by word, because labels such
 * as "IBAN получателя" are usual, and only letters within one word pass for each other. Its Latin
 * letters are those of languages.
 *
 * @example isHighlyRestrictive('Аmount') // false: the first letter is Cyrillic
 */
export function isHighlyRestrictive(text: string): boolean {
  if (ASCII.test(text)) return true
  // A joiner within a word must not split it.
  const words = withoutJoiners(text).split(BETWEEN_WORDS)
  return words.every((word) => isListed(word) && PROFILES.some((profile) => profile.test(word)))
}

/**
 * The keys by which two texts look alike: their confusables skeletons (UTS 39, section 4), as
 * written and in lower case, without white space and punctuation. Texts look alike if they have a
 * key in common.
 */
export function lookalikeKeys(text: string): readonly string[] {
  const plain = withoutJoiners(text.normalize('NFKC'))
  const folded = plain.replace(UNCOUNTED, '')
  const counted = folded === '' ? plain.trim() : folded
  return [skeleton(counted), skeleton(counted.toLowerCase())]
}

/**
 * The same keys for each word of a text. Those of several words in a row are their concatenations,
 * because blanks do not count.
 */
export function lookalikeWords(text: string): readonly (readonly string[])[] {
  const words = withoutJoiners(text.normalize('NFKC')).split(UNCOUNTED).filter(Boolean)
  return words.map((word) => [skeleton(word), skeleton(word.toLowerCase())])
}

/** Whether two texts look alike. */
export function lookAlike(one: string, other: string): boolean {
  const keys = lookalikeKeys(one)
  return lookalikeKeys(other).some((key) => keys.includes(key))
}

let prototypes: ReadonlyMap<string, string> | undefined

function skeleton(text: string): string {
  // Made at the first use, so that a start does not wait for it.
  prototypes ??= readTable()
  return Array.from(text.normalize('NFD'), (one) => prototypes?.get(one) ?? one)
    .join('')
    .normalize('NFD')
}

function readTable(): ReadonlyMap<string, string> {
  const text = (codes = '') =>
    String.fromCodePoint(...codes.split('+').map((code) => Number.parseInt(code, 16)))
  const records = CONFUSABLES.trim().split(/\s/)
  return new Map(
    records.flatMap((record) => {
      const [target, sources = ''] = record.split(':')
      return sources.split(',').map((source) => [text(source), text(target)] as const)
    }),
  )
}
