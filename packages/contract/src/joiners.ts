/**
 * Where characters without a glyph of their own are part of the spelling. The joiners U+200C and
 * U+200D may be where domain names may have them (RFC 5892, appendices A.1 and A.2): after a
 * virama, and between two Arabic letters that join. In addition they may be before a virama, as in
 * Bengali র‍্যাব, and between two emoji. A variation selector may follow its base. The lists hold
 * the letters and signs of Unicode 15.0; in all other places these characters are hidden ones.
 */

/** A letter of the Arabic script that joins at all: hamza does not. */
const JOINING = '(?=\\p{L})[\\u0620\\u0622-\\u08c8]'

/** Those of the block Arabic that join to the letter before them only (Joining_Type R). */
const RIGHT =
  '\\u0622-\\u0625\\u0627\\u0629\\u062f-\\u0632\\u0648\\u0671-\\u0677\\u0688-\\u0699\\u06c0' +
  '\\u06c3-\\u06cb\\u06cd\\u06cf\\u06d2-\\u06d5'

/** Signs that remove a letter's vowel (Canonical_Combining_Class Virama), of usual scripts. */
const VIRAMA = '\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca'

/** A pattern for a joiner or a variation selector that its context permits. */
export const PERMITTED_JOINER =
  `(?<=[${VIRAMA}])[\\u200c\\u200d]|[\\u200c\\u200d](?=[${VIRAMA}])` +
  `|(?<=(?![${RIGHT}])${JOINING}\\p{Mn}*)\\u200c(?=\\p{Mn}*${JOINING})` +
  '|(?<=[\\p{ExtPict}\\p{EMod}\\ufe0f])\\u200d(?=\\p{ExtPict})|\\ufe0f(?=\\u20e3)' +
  '|(?<=[\\p{UIdeo}\\p{ExtPict}\\p{sc=Mong}])\\p{VS}'

const JOINERS = /\u200c|\u200d|\u180e|\p{VS}/gu

/** The same text without joiners and variation selectors, to compare it with others. */
export function withoutJoiners(text: string): string {
  return text.replace(JOINERS, '')
}
