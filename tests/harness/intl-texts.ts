import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The languages of the phone page, and variants with other digits. */
export const LANGUAGES = [
  'en',
  ...readdirSync(join(import.meta.dirname, '../../packages/phone-page/languages')).map((file) =>
    file.replace(/\.json$/, ''),
  ),
  'ar-EG',
  'ar-SA',
  'ar-MA',
]
export const CURRENCIES = Intl.supportedValuesOf('currency')
const AFTERNOON = new Date('2026-11-26T13:05:09Z')
const STYLES = ['full', 'long', 'medium', 'short'] as const

/** Names as people of the language write them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  ar: ['محمد بن عبد الله', 'فاطمة الزهراء', 'عبدالرحمن'],
  bg: ['Георги Димитров', 'Мария Иванова', 'Ян'],
  el: ['Γιώργος Παπαδόπουλος', 'Ελένη', 'Νίκος'],
  fa: ['علی رضا', 'مهدی\u200cیار', 'گل\u200cناز'],
  ga: ['Seán Ó Súilleabháin', 'Niamh', 'Aoife'],
  he: ['ג׳ון כהן', 'משה לוי', 'שרה'],
  hi: ['ज़ाकिर हुसैन', 'लक्ष्मी', 'क्\u200dषमा'],
  ja: ['山田\u3000太郎', '髙橋', '田中'],
  ko: ['김민준', '이서연', '박'],
  th: ['สมชาย ใจดี', 'กุลธิดา', 'น้ำ'],
  uk: ["Мар'яна", 'Олексій', 'Їжак'],
  ur: ['محمد علی', 'فاطمہ', 'خان'],
  vi: ['Nguyễn Thị Hồng', 'Trần', 'Lê'],
  'zh-Hans': ['王小明', '欧阳', '李'],
}
const LATIN = ['Zoë O’Neill-Müller', 'Łukasz', 'Åsa']

const RIGHT_TO_LEFT = /^(?:ar|fa|he|ur)/

/** All that `Intl` writes in a language for an amount, a date, a time span and names. */
export function* textsIn(language: string): Generator<string> {
  // Only scripts from right to left have marks, and so a form of their own for each display.
  const displays = RIGHT_TO_LEFT.test(language)
    ? (['symbol', 'narrowSymbol', 'code', 'name'] as const)
    : (['symbol'] as const)
  for (const currency of CURRENCIES)
    for (const currencyDisplay of displays)
      for (const currencySign of displays.length > 1
        ? (['standard', 'accounting'] as const)
        : (['standard'] as const)) {
        const format = new Intl.NumberFormat(language, {
          style: 'currency',
          currency,
          currencyDisplay,
          currencySign,
        })
        yield format.format(12_500.5)
        yield format.format(-12_500.5)
      }
  for (const dateStyle of STYLES)
    for (const timeStyle of [undefined, ...STYLES]) {
      const zone = { timeZone: 'America/New_York' }
      yield new Intl.DateTimeFormat(language, {
        dateStyle,
        ...zone,
        ...(timeStyle && { timeStyle }),
      }).format(AFTERNOON)
    }
  for (let day = 1; day <= 12; day++)
    yield new Intl.DateTimeFormat(language, { dateStyle: 'full' }).format(
      new Date(2026, day, day, 12),
    )
  for (const unit of [
    'second',
    'minute',
    'hour',
    'day',
    'week',
    'month',
    'quarter',
    'year',
  ] as const)
    for (const numeric of ['auto', 'always'] as const)
      for (const count of [-2, -1, 0, 1, 2, 5])
        yield new Intl.RelativeTimeFormat(language, { numeric }).format(count, unit)
  const names = NAMES[language] ?? NAMES[language.split('-', 1)[0] ?? ''] ?? LATIN
  yield* names
  for (const type of ['conjunction', 'disjunction', 'unit'] as const)
    for (const style of ['long', 'short', 'narrow'] as const)
      yield new Intl.ListFormat(language, { type, style }).format(names)
  yield new Intl.NumberFormat(language, { style: 'percent' }).format(-0.125)
  yield new Intl.NumberFormat(language).format(-12_500.5)
}
