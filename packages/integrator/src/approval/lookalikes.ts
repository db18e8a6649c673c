import { escapeUnits } from '@bonded/contract'
import {
  ALPHABETS,
  ASCII_LOOKALIKES,
  EAST_ASIAN_MARKS,
  LATIN_LETTERS,
  TOP_LEVEL_LABELS,
  USUAL_MARKS,
} from './lookalikes-table.ts'

/** Scripts without blanks between words. Their letters may end an address. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
/** Compatibility forms that are usual beside East Asian letters: fullwidth, circled and squared. */
const EAST_ASIAN_FORM = /[\u2460-\u24ff\u3000-\u33ff\ufe30-\ufe6f\uff01-\uffef]/
const EAST_ASIAN = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Bopo}]/u
const SOUTH_EAST_ASIAN = /[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const ASCII = /^[ -~]+$/
/** A letter, mark or symbol that looks like no ASCII, in a folded text. */
const OTHER = '\u00df'
/** A mark in it, and a letter of an unspaced script of South East Asia, and of East Asia. */
const MARK = '\u0300'
const [THAI, HAN] = ['\u0e01', '\u4e00']
const MARKED = /[\u0e01\u4e00]\u0300+/g
/** One or two letters within a token, or one of South East Asia before it, are part of it. */
const WITHIN =
  /(?<=[0-9A-Za-z\u00df][-./@:_]?)[\u0e01\u4e00]{1,2}(?=[-./@:_]?[0-9A-Za-z\u00df])|(?<![\u0e01\u4e00])\u0e01(?=[0-9A-Za-z])/g
/** Punctuation, bullets and stars, but not ellipses, primes and fullwidth forms. */
export const BULLET = String.raw`(?![ -~\u2026\u2030-\u2034\uff00-\uff1f])[\p{Po}\u00a8\u00b4\u00b8\u02c2-\u02ff\u0375\u05c5\u09f9\u119e\u201a\u220e\u2217-\u2219\u2295-\u22a1\u22c4-\u22c6\u235f\u23f9\u23fa\u25a0-\u25ff\u2605-\u2609\u2660-\u2667\u2686-\u2689\u26aa-\u26ac\u2720-\u2793\u2804\u2840\u2981\u29be\u29bf\u29eb\u2a00-\u2a02\u2b1b-\u2b59\u309c\u318d\ua78f\ufbb2-\ufbc1\u{1f518}\u{1f534}-\u{1f539}\u{1f780}-\u{1f7ff}]`
/** What looks like a full stop, before a label. Catalan has a middle dot between two l. */
const DOT = new RegExp(String.raw`(?!(?<=[Ll])\u00b7[Ll])${BULLET}(?=[a-z]|[A-Z]{2})`, 'gu')
/** Quotation marks, and what looks like them, but no letters. */
export const QUOTES =
  /[\p{Pi}\p{Pf}'\u00a8\u02bb\u02bc\u02f5\u0385\u055a\u055b\u05f3\u05f4\u1fed\u1fee\u201a\u201e\u2032-\u2037\u275b-\u2760\u2e42\u3003\u301d-\u301f\u309b\uff02\uff07\uff9e\u{1f676}-\u{1f678}]/gu
const Q = QUOTES.source
/** They draw a member: its name and the start of its value, or what is before it and its name. */
const MEMBER = new RegExp(
  String.raw`${Q}\s*(?:[:\u1361\u2982\ua6f4\uff1a]\s*${Q}|[,\u3001\uff0c]\s*${Q}(?:(?!${Q}).|(?<=\p{L})['\u2019](?=\p{L}))+${Q}\s*[:\u1361\u2982\ua6f4\uff1a])`,
  'u',
)
/** Marks, except vowels of scripts of India, which follow Latin abbreviations in sentences. */
export const SIGN = String.raw`[\p{Mn}\p{Me}\u0903\u0982\u0983\u0a03\u0a83\u0b02\u0b03\u0c02\u0c03\u0c82\u0c83\u0d02\u0d03\u0d82\u0d83\u0f7f\u1038\u17c7\u17c8\u302e\u302f]`
/**
 * A dot above a dot, a mark on a letter that is not an accent, and every mark on a sign or after an
 * escape, except those of emoji.
 */
const MARKS = new RegExp(
  String.raw`(?<=[\p{Soft_Dotted}\u0131\u0237\u04cfl]\p{M}{0,4})\u0307` +
    String.raw`|(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]${SIGN}{0,4})(?![\p{VS}\u0300-\u0304\u0306-\u030d\u030f\u0311\u0313\u0314\u031b\u0323-\u0328\u032d\u032e\u0330\u0331\u0342-\u0345\u0358])${SIGN}` +
    String.raw`|(?<=(?:[\p{P}\p{S}\p{Z}0-9]|\\u[0-9a-f]{4})${SIGN}{0,4})(?!\p{VS}|(?<=\ufe0f)\u20e3)${SIGN}`,
  'gu',
)
/** An escape of JSON. Its letters do not belong to a word. */
const ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g
/** Brackets, quotes and full stops around an address do not belong to it. */
const TOKEN = /(?![()[\]{}<>'.:;!?])[^\s",]+(?<![()[\]{}<>'.:;!?])/g
const IBAN =
  /(?<![0-9a-z\u00df])(?!\u00df\u00df)[a-z\u00df]{2}(?!\u00df\u00df)[0-9lo\u00df]{2}(?: [0-9a-z\u00df\u0e01\u4e00]{4}(?= ))?(?: ?[0-9a-z\u00df]{4}){2,7}(?: ?[0-9a-z\u00df]{1,4})?(?![0-9a-z\u00df])/gi
/** A digit of another script in a group, or a letter that looks like one, with what is before. */
const IN_GROUP = /^[\s\p{Nd}〇ロㅁㅇㅣ丨口](?!\d)[\p{Nd}〇ロㅁㅇㅣ丨口]$/u
/** Digits with separators. One number has digits of one script. */
const NUMBER = /\p{Nd}(?:(?:[\p{Nd}.,:'/+-]|(?<=\p{Nd})[ \u00a0\u2009\u202f](?=\p{Nd}))*\p{Nd})?/gu
/** What looks like a digit of ASCII after another one, and is not in the table. */
const LIKE_DIGIT =
  /[\u00d8\u00f8\u0398\u039f\u03b8\u03bf\u03f4\u041e\u0427\u043e\u0447\u0472\u0473\u04e8\u04e9\u110b\u2205\u2300\u25cb\u25ef\u2b55\u3007\u3147\u3163\u4e28]/
const IN_NUMBER = new RegExp(
  String.raw`(?<=\d)(?:${LIKE_DIGIT.source}+(?!\p{L})|[\u00b0\u00ba]{2,})` +
    // What looks like a decimal separator.
    String.raw`|(?<=\d)(?:${BULLET}|[\u02cf\u066b\u066c])+(?=\d)` +
    // Letters that look like 2, 3, 4, 5, 6 and 8.
    String.raw`|(?<!\p{L})[\u00df\u0181\u01b7\u0417\u0427\u0431\u0437\u0447]+(?=\d)`,
  'gu',
)
/** Letters that look like 2, 3, 5, 6, 8, 0 and 1, and have no such entry in the table. */
const DRAWN_DIGIT =
  /[\u01b7\u03e8\u0417\u0431\u0437\u04e1\u05df\u0b20\u0d20\u10bd\u12d0\u2d4f\u2d54\u{10320}]/u
/** In a line of `Ø`, `ø` for a suffix of one letter, and `ß`: letters that continue a number. */
const DRAWN =
  /(?<=\d[.,']?)(?:[Øø]{2,}(?![A-Za-zØøß])|[Øø]+(?=\d)|Ø(?=[.,']\d\d(?!\d)))|(?<![0-9A-Za-zØøß])[Øø]{2,}(?=\d|[.,]\d\d(?!\d))|(?<![0-9A-Za-zØøß])(?=[A-Za-zØø]*\d)(?=[\dØø]*[A-Za-z])[0-9A-Za-zØø]+(?![0-9A-Za-zØøß])/g
/** Suffixes of two letters: Greek ordinals, Russian folios and Persian plurals. */
const SUFFIX = /^(?:\u03bf\u03b9|\u043e\u0431|\u0647\u0627)$/
/** The same where no other letter of the line is of another script. */
const DRAWN_ALONE =
  /(?<=\d)(?:Ø+(?![A-Za-zØøß])|[Øø]+(?=[.,']?\d))|(?<![0-9A-Za-zØøß])[Øø]+(?=\d|[.,]\d\d(?!\d))/g
/** The start of an IBAN. */
const IBAN_START =
  /(?<![0-9A-Za-z\u00df])[A-Z]{2}(?:\d\d| \d\d [0-9A-Z]{4}) [0-9A-Z]{4}(?![0-9A-Za-z\u00df])/g
const LABEL = /[.]([^\s./:?#@()[\]'"-]+)/g
const MIN_LETTERS = 4
/** Forms of Russian, Kazakh and Ukrainian companies, beside a Latin name. */
const LEGAL_FORM = /^(?:[\u0410\u041e]{2,3}|\u0422\u041e[\u041e\u0412])$/
const LATIN = /\p{Script=Latin}/u
/** Scripts whose letters pass for those of the others, and the rest. */
const SCRIPTS = [
  /\p{sc=Greek}/u,
  /\p{sc=Cyrillic}/u,
  /\p{sc=Armenian}/u,
  /(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Common}])[\p{L}\p{N}]/u,
]
/** In the compatibility form of a letter: small capitals, and others that no language has. */
export const UNLISTED = new RegExp(`(?![a-z${ALPHABETS}])\\p{Script=Latin}`, 'iu')
/** Letters of no single script, such as the apostrophe of Uzbek and the micro sign, are usual. */
const NOT_LATIN = /(?![\p{Script=Latin}\p{Script=Common}])\p{L}/u
const NOT_LATIN_ALL = new RegExp(NOT_LATIN, 'gu')
/** Hyphens before Latin letters and digits, but not after others. Minus signs of numbers stay. */
const HYPHENS = new RegExp(
  String.raw`(?<![-\u058a\u05be\u1806\u2010\u2011\u2212\u4e00]|${NOT_LATIN.source})(?:[-\u058a\u05be\u1806\u2010\u2011\u4e00]|\u2212(?!\d))+(?=[0-9\p{sc=Latin}])` +
    // En dashes that draw an option: two, or one before consonants, except a preposition.
    String.raw`|(?<![^\s"])(?:(?=-*\u2013)[-\u2013]{2,}(?=[A-Za-z])|\u2013(?=(?![ksvwz](?![a-z]))[b-df-hj-np-tv-xz]+(?![\p{L}\p{M}\p{N}.'\u2019])))`,
  'gu',
)
/** An escape, or a word. Latin letters within Chinese, Japanese or Korean words are usual. */
const WORDS = new RegExp(`${ESCAPE.source}|(?:(?!${UNSPACED.source})[\\p{L}\\p{M}\\p{N}])+`, 'gu')

let tables: ReturnType<typeof readTables> | undefined

function readTables() {
  const text = (codes = '') =>
    String.fromCodePoint(...codes.split('+').map((code) => Number.parseInt(code, 16)))
  return {
    ascii: new Map(
      ASCII_LOOKALIKES.trim()
        .split(/\s/)
        .flatMap((record) => {
          const [target, sources = ''] = record.split(':')
          return sources.split(',').map((source) => [text(source), text(target)] as const)
        }),
    ),
    labels: new Set(
      // The first two imitate "com". IANA reserves the third.
      `\u0441\u043e\u043c c${OTHER}m test ${TOP_LEVEL_LABELS.trim()}`
        .split(/\s/)
        .flatMap((label) => [label, alike(label)]),
    ),
  }
}

/** Read at the first use, so that an import does not wait for it. */
const tablesOnce = () => (tables ??= readTables())

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

/** One character for each, so that places stay. A quote is the limit of a string. */
function fold(one: string): string {
  if (ASCII.test(one)) return one
  if (one === '\n') return '"'
  if (/(?![\u2018\u2019])[\s\p{Pi}\p{Pf}\u201e]/u.test(one)) return ' '
  if (/[\u3002\uff61]/.test(one)) return '.'
  const ascii = asciiOf(one)
  if (ascii === '' && /\p{M}/u.test(one)) return MARK
  if (ascii === '' && UNSPACED.test(one)) return SOUTH_EAST_ASIAN.test(one) ? THAI : HAN
  if (ascii === '' || ascii.startsWith('..')) return OTHER
  // Neither the end of a token nor an escape: what looks like them is part of an address.
  if (/^[,\\]/.test(ascii) && one !== '\uff0c') return '/'
  return ascii === 'rn' ? 'm' : ((/[0-9A-Za-z]/.exec(ascii) ?? ascii)[0] ?? OTHER)
}

/** The line as a user reads it: ASCII, `OTHER`, and `THAI` or `HAN` for what ends an address. */
function foldLine(line: string): string {
  return Array.from(line.replaceAll(DOT, '.'), fold)
    .join('')
    .replaceAll(ESCAPE, (part) => ' '.repeat(part.length))
    .replaceAll(MARKED, (part) => HAN.repeat(part.length))
    .replaceAll(MARK, OTHER)
    .replaceAll(WITHIN, (part) => OTHER.repeat(part.length))
}

/** Whether a character imitates ASCII anywhere: its form, or punctuation that no language has. */
function isImitation(one: string, isEastAsian: boolean): boolean {
  if (ASCII.test(one) || USUAL_MARKS.includes(one)) return false
  const ascii = asciiOf(one)
  const plain = one.normalize('NFKD')
  const isForm = /[\p{L}\p{N}]/u.test(one) && (ASCII.test(plain) || UNLISTED.test(plain))
  if (!isForm && !/[^0-9A-Za-z]/.test(ascii)) return false
  return !(isEastAsian && (EAST_ASIAN_MARKS.includes(one) || EAST_ASIAN_FORM.test(one)))
}

/** `Ø` for a letter that looks like a digit, `ø` for one that may be a suffix, `ß` for another. */
function drawn(one: string): string {
  if (one <= '~') return one
  const isUsual = EAST_ASIAN.test(one) || LATIN_LETTERS.includes(one) || USUAL_MARKS.includes(one)
  const isDigit = /^[0-9OoIilSsZz|]$/.test(asciiOf(one)) && /\p{L}/u.test(one) && !isUsual
  if (!isDigit && !DRAWN_DIGIT.test(one)) return /[\p{L}\p{M}]/u.test(one) ? 'ß' : ' '
  return /[\p{sc=Greek}\p{sc=Cyrillic}]/u.test(one) && one !== one.toUpperCase() ? 'ø' : 'Ø'
}

/** Whether a token without blanks has the shape of an address, as a user reads it. */
function isAddress(token: string, letters: readonly string[]): boolean {
  if (/.@|@.|:\/\/|^www\.|https?[^\w-]{0,2}\//i.test(token)) return true
  const { labels } = tablesOnce()
  return Array.from(token.matchAll(LABEL)).some(({ 1: label = '', index }) => {
    // Other scripts in lower case only: in г.Москва, a name follows an abbreviation.
    const written = letters.slice(index + 1, index + 1 + label.length).join('')
    return label.length > 1 && (labels.has(alike(label)) || labels.has(written))
  })
}

/** Whether a word of ASCII letters, as a user reads it, is written with others. */
function isImitatedWord(word: string, letters: readonly string[], isBesideLatin: boolean): boolean {
  const isForeign = (one: string, at: number) =>
    !ASCII.test(one) &&
    !LATIN_LETTERS.includes(one) &&
    !(USUAL_MARKS.includes(one) && /[\p{scx=Latin}\p{scx=Common}]/u.test(one)) &&
    // A mark, or a symbol at the end, such as ™, is not a letter.
    (at < letters.length - 1 ? word[at] !== OTHER : /[\p{L}\p{N}]/u.test(one))
  const isLike = letters.every((one, at) => word[at] !== OTHER || /\p{M}/u.test(one))
  const text = letters.join('')
  if (!isLike || LEGAL_FORM.test(text)) return false
  // A short word imitates only beside Latin letters, or in capitals.
  const isCapital = (one: string, at: number) =>
    /[A-Z]/.test(word[at]!) || one !== one.toLowerCase()
  const capitals = letters.filter(isCapital).length
  const isRead = isBesideLatin || (capitals > 1 && !/[^\w&]/.test(word))
  if (isRead && NOT_LATIN.test(text)) return true
  return (word.match(/[A-Za-z]/g)?.length ?? 0) >= MIN_LETTERS && letters.some(isForeign)
}

/**
 * The same line with everything as `\uXXXX` that could pass for ASCII: what is not ASCII in an
 * address, a word of a Latin line whose letters all look like ASCII, letters of other scripts in
 * a Latin word, other digits in a number, compatibility forms, look-alikes of punctuation, marks
 * other than accents, and quotation marks that draw a member. Names and sentences of all languages
 * stay as they are.
 */
export function escapeLookalikes(line: string): string {
  if (ASCII.test(line)) return line
  const letters = Array.from(line)
  const unspaced = foldLine(line)
  const folded = unspaced.replaceAll(/[\u0e01\u4e00]/g, ' ')
  const isPlain = (at: number) => folded[at] === OTHER || folded[at] === ' '
  const isEastAsian = letters.some((one, at) => isPlain(at) && EAST_ASIAN.test(one))
  // The full stop of Armenian looks like a colon, so it stays only after its own letters.
  const isStop = (one: string, at: number) => /\p{sc=Armn}\u0589/u.test(letters[at - 1] + one)
  const escaped = letters.map((one, at) => isImitation(one, isEastAsian) && !isStop(one, at))
  const escape = (start: number, length: number) => {
    for (let at = start; at < start + length; at += 1) escaped[at] ||= letters[at]! > '~'
  }
  const isInGroup = (one: string, at: number) => IN_GROUP.test(letters[at - 1] + one)
  const groups = letters.map((one, at) => (isInGroup(one, at) ? OTHER : unspaced[at])).join('')
  for (const { 0: iban, index } of groups.matchAll(IBAN))
    if (iban.includes(OTHER) ? /(?:\d[^\d]*){8}/.test(iban) : /\d\d/.test(iban))
      escape(index, iban.length)
  // A word that imitates a Latin one does not make its line foreign.
  const plain = letters
    .filter((one, at) => isPlain(at) && !LIKE_DIGIT.test(one) && !DRAWN_DIGIT.test(one))
    .join('')
  const isForeign = NOT_LATIN.test(plain)
  /** Scripts of which all letters in the line look like ASCII. */
  const imitating = SCRIPTS.filter((script) => !script.test(plain))
  const digits = letters.map(drawn).join('')
  for (const pattern of isForeign ? [DRAWN] : [DRAWN, DRAWN_ALONE])
    for (const { 0: part, index } of digits.matchAll(pattern))
      if (!SUFFIX.test(letters.slice(index, index + part.length).join('')))
        escape(index, part.length)
  for (const { 0: part, index } of folded.matchAll(IBAN_START)) escape(index, part.length)
  const besideLatin = letters
    .map((one, at) => (one === folded[at] || folded[at] === '"' ? folded[at] : '-'))
    .join('')
    .replaceAll(/[^"]+/g, (string) =>
      (!isForeign && /[A-Za-z]/.test(string) ? '+' : '-').repeat(string.length),
    )
  for (const { 0: token, index: start } of folded.matchAll(TOKEN)) {
    const lettersOf = (at: number, part: string) =>
      letters.slice(start + at, start + at + part.length)
    if (isAddress(token, lettersOf(0, token))) escape(start, token.length)
    const whole = isForeign ? [] : [{ 0: token, index: 0 }]
    for (const { 0: part, index: at } of [...whole, ...token.matchAll(/[0-9A-Za-z\u00df]+/g)]) {
      const own = lettersOf(at, part)
      if (isForeign && !imitating.some((script) => script.test(own.join('')))) continue
      if (isImitatedWord(part, own, besideLatin[start] === '+')) escape(start + at, part.length)
    }
  }
  return letters
    .map((one, at) => (escaped[at] ? escapeUnits(one) : one))
    .join('')
    .replace(WORDS, (word) => (isMixed(word) ? word.replaceAll(NOT_LATIN_ALL, escapeUnits) : word))
    .replace(NUMBER, (part) => (/\d/.test(part) ? part.replace(/[^\s -~]/g, escapeUnits) : part))
    .replace(IN_NUMBER, (part) => (isForeign ? part : part.replaceAll(/[^ -~]/g, escapeUnits)))
    .replace(MARKS, escapeUnits)
    .replace(HYPHENS, (part) => part.replaceAll(/[^-]/g, escapeUnits))
    .replace(MEMBER.test(line) ? QUOTES : /(?!)/, (one) => (one > '~' ? escapeUnits(one) : one))
}

/** Whether a word has letters of two scripts that pass for each other, or others beside Latin. */
function isMixed(word: string): boolean {
  if (word.startsWith('\\')) return false
  return [LATIN, ...SCRIPTS].filter((script) => script.test(word)).length > 1
}
