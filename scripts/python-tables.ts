import {
  ASCII_LOOKALIKES,
  EAST_ASIAN_MARKS,
  LATIN_LETTERS,
  TOP_LEVEL_LABELS,
  USUAL_MARKS,
} from '../packages/integrator/src/approval/lookalikes-table.ts'
import { BULLET, QUOTES, SIGN, UNLISTED } from '../packages/integrator/src/approval/lookalikes.ts'

/**
 * The characters that the Python package decides on, as classes of its regular expressions: Python
 * has no `\p{…}`, and its `unicodedata` has another version of Unicode in each version of Python.
 */
const CLASSES = {
  // As the display rules and `displayText` name them.
  HIDDEN: String.raw`[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]`,
  INVISIBLE: String.raw`(?![\u200e\u200f\u061c])[\p{Cc}\p{Cf}\p{DI}\p{VS}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]`,
  SPACE: String.raw`\p{space}`,
  MARK: String.raw`\p{M}`,
  INHERITED_MARK: String.raw`(?=\p{sc=Zinh})\p{M}`,
  VISIBLE: String.raw`[\p{L}\p{N}\p{P}\p{S}]`,
  NONSPACING: String.raw`\p{Mn}`,
  SPACING: String.raw`\p{Mc}`,
  LETTER: String.raw`\p{L}`,
  NUMBER: String.raw`\p{N}`,
  DIGIT: String.raw`\p{Nd}`,
  CURRENCY: String.raw`\p{Sc}`,
  PICTOGRAPH: String.raw`\p{ExtPict}`,
  MODIFIER: String.raw`\p{EMod}`,
  IDEOGRAPH: String.raw`\p{UIdeo}`,
  SELECTOR: String.raw`\p{VS}`,
  MONGOLIAN: String.raw`\p{sc=Mong}`,
  ARABIC: String.raw`\p{sc=Arab}`,
  CURSIVE: String.raw`[\p{sc=Syrc}\p{sc=Mong}\p{sc=Nkoo}\p{sc=Adlm}\p{sc=Rohg}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}]`,
  // As the rules of look-alikes name them.
  UNSPACED: String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`,
  EAST_ASIAN: String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Bopo}]`,
  SOUTH_EAST_ASIAN: String.raw`[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`,
  LATIN: String.raw`\p{sc=Latin}`,
  GREEK: String.raw`\p{sc=Greek}`,
  CYRILLIC: String.raw`\p{sc=Cyrillic}`,
  ARMENIAN: String.raw`\p{sc=Armenian}`,
  OTHER_SCRIPT: String.raw`(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Common}])[\p{L}\p{N}]`,
  NOT_LATIN: String.raw`(?![\p{sc=Latin}\p{sc=Common}])\p{L}`,
  OF_LATIN: String.raw`[\p{scx=Latin}\p{scx=Common}]`,
  QUOTE: String.raw`[\p{Pi}\p{Pf}\u201e]`,
  MEMBER_QUOTE: QUOTES.source,
  BULLET,
  SIGN,
  UNMARKED: String.raw`[\p{P}\p{S}\p{Z}0-9]`,
  DOTTED: String.raw`[\p{Soft_Dotted}\u0131\u0237\u04cfl]`,
} as const

const LAST = 0x10ffff
const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff]
const ASCII = /^[ -~]+$/

/** Every character but surrogates, in order. */
const CHARACTERS = Array.from({ length: LAST + 1 }, (_, code) => code)
  .filter((code) => code < FIRST_SURROGATE || code > LAST_SURROGATE)
  .map((code) => String.fromCodePoint(code))

type Range = readonly [first: number, last: number]

function rangesOf(pattern: string): readonly Range[] {
  const found: Range[] = []
  const all = CHARACTERS.join('')
  for (const { 0: run } of all.matchAll(new RegExp(`(?:${pattern})+`, 'gu'))) {
    const first = run.codePointAt(0) ?? 0
    const last = (Array.from(run.slice(-2)).at(-1) ?? '').codePointAt(0) ?? 0
    const isOfBoth = first < FIRST_SURROGATE && last > LAST_SURROGATE
    if (isOfBoth && !new RegExp(pattern, 'u').test('\ud800'))
      found.push([first, FIRST_SURROGATE - 1], [LAST_SURROGATE + 1, last])
    else found.push([first, last])
  }
  return found
}

/** A character within a class of a Python expression: ASCII may have a meaning there. */
function escaped(code: number): string {
  if (code < 0x80) return `\\\\x${code.toString(16).padStart(2, '0')}`
  const hex = code.toString(16)
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
}

function classOf(pattern: string): string {
  return rangesOf(pattern)
    .map(([first, last]) =>
      first === last
        ? escaped(first)
        : `${escaped(first)}${last > first + 1 ? '-' : ''}${escaped(last)}`,
    )
    .join('')
}

function text(codes = ''): string {
  return String.fromCodePoint(...codes.split('+').map((code) => Number.parseInt(code, 16)))
}

/** What each character looks like in ASCII, and the letters that are forms, or of no language. */
function lookalikes() {
  const listed = new Map(
    ASCII_LOOKALIKES.trim()
      .split(/\s/)
      .flatMap((record) => {
        const [target, sources = ''] = record.split(':')
        return sources.split(',').map((source) => [text(source), text(target)] as const)
      }),
  )
  const sources = new Map<string, string[]>()
  const forms: number[] = []
  for (const one of CHARACTERS.slice(0x7f)) {
    const plain = one.normalize('NFKC')
    const ascii = ASCII.test(plain) ? plain : (listed.get(one) ?? listed.get(plain))
    const code = one.codePointAt(0) ?? 0
    const isForm = ASCII.test(plain) || UNLISTED.test(one.normalize('NFKD'))
    if (isForm && /[\p{L}\p{N}]/u.test(one)) forms.push(code)
    if (ascii === undefined) continue
    sources.set(ascii, [...(sources.get(ascii) ?? []), code.toString(16)])
  }
  const hex = (one: string) =>
    Array.from(one, (part) => part.codePointAt(0)?.toString(16)).join('+')
  return {
    table: [...sources].map(([target, all]) => `${hex(target)}:${all.join(',')}`).join(' '),
    forms: forms.map(escaped).join(''),
  }
}

/** A text as lines of a literal. */
function literal(name: string, value: string): string {
  // Not within an escape.
  const parts = value.match(/(?:\\U[0-9a-f]{8}|\\u[0-9a-f]{4}|\\\\x[0-9a-f]{2}|.){1,4}/gs) ?? []
  const lines: string[] = []
  for (const part of parts)
    if ((lines.at(-1)?.length ?? 99) + part.length > 88) lines.push(part)
    else lines[lines.length - 1] += part
  return `${name} = (\n${lines.map((line) => `    "${line}"\n`).join('')})\n`
}

function escapedText(value: string): string {
  return Array.from(value, (one) =>
    ASCII.test(one) ? one : escaped(one.codePointAt(0) ?? 0),
  ).join('')
}

/** The module of the tables. */
export function pythonTables(): string {
  const { table, forms } = lookalikes()
  const labels = TOP_LEVEL_LABELS.trim().split(/\s+/).join(' ')
  return [
    '# Generated by `npm run generate`. Change scripts/python-tables.ts, not this file.\n' +
      '# Copyright © Unicode, Inc. Unicode License v3: https://www.unicode.org/license.txt\n' +
      '"""Classes of characters for regular expressions, and tables of look-alikes."""\n',
    ...Object.entries(CLASSES).map(([name, pattern]) => literal(name, classOf(pattern))),
    literal('ASCII_FORM', forms),
    literal('ASCII_LOOKALIKES', table),
    literal('LATIN_LETTERS', escapedText(LATIN_LETTERS)),
    literal('USUAL_MARKS', escapedText(USUAL_MARKS)),
    literal('EAST_ASIAN_MARKS', escapedText(EAST_ASIAN_MARKS)),
    literal('TOP_LEVEL_LABELS', escapedText(labels)),
  ].join('\n')
}
