/**
 * Where the invisible joiners U+200C and U+200D are part of the spelling, as in Persian, Hindi and
 * Sinhala (RFC 5892, appendices A.1 and A.2). A letter has to follow, because a joiner at the end
 * of a word changes no glyph. The lists hold the letters and signs in general use, of Unicode 15.0;
 * in all other places a joiner is a hidden character.
 */

/** A letter of the block Arabic that joins at all: hamza does not. */
const JOINING = '(?=\\p{L})(?=\\p{sc=Arab})[\\u0620\\u0622-\\u0673\\u0675-\\u06d3]'

/** Those that join to the letter before them only (Joining_Type R). */
const RIGHT =
  '\\u0622-\\u0625\\u0627\\u0629\\u062f-\\u0632\\u0648\\u0671-\\u0673\\u0675-\\u0677' +
  '\\u0688-\\u0699\\u06c0\\u06c3-\\u06cb\\u06cd\\u06cf\\u06d2\\u06d3'

/** Signs that remove a letter's vowel (Canonical_Combining_Class Virama), of Indic scripts. */
const VIRAMA = '\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca'

/** A pattern for a joiner that its context permits. */
export const PERMITTED_JOINER =
  `(?<=[${VIRAMA}])[\\u200c\\u200d](?=\\p{L})` +
  `|(?<=(?![${RIGHT}])${JOINING}\\p{Mn}*)\\u200c(?=${JOINING})`

const JOINERS = /[\u200c\u200d]/g

/** The same text without joiners, to compare it with others: it reads the same. */
export function withoutJoiners(text: string): string {
  return text.replace(JOINERS, '')
}
