import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import {
  hasDirectionalMark,
  isDisplayText,
  isDisplayValue,
  sanitizeDisplayValue,
} from '../src/index.ts'

const LRM = '\u200e'
const RLM = '\u200f'
const ALM = '\u061c'
const MARKS = /[\u200e\u200f\u061c]/g

test('accepts the amounts, dates and lists of languages from right to left', () => {
  for (const value of [
    `${RLM}12,500.00 ${RLM}₪`,
    `${RLM}${LRM}-12,500.50 ${RLM}₪`,
    `${LRM}-${RLM}13K${RLM} ${RLM}AED`,
    `${RLM}١٢٬٥٠٠٫٠٠ ج.م.${RLM}`,
    `(${ALM}12,500.50 ج.م.${RLM})`,
    `${LRM}−${LRM}ریال ۱۲٬۵۰۰`,
    `${LRM}(فرانک CFA ۱۲٬۵۰۱)`,
    `${LRM}-13${LRM}%${LRM}`,
    `٢٠${RLM}/٥${RLM}/٢٠٢٤`,
    `20${RLM}/05${RLM}/2024، 9:05 ص`,
    `20 במאי 2024 בשעה 9:05:09 GMT-4${LRM}`,
    `۳۱ اردیبهشت ۱۴۰۳ ساعت ۹:۰۵:۰۹ (${LRM}−۴ گرینویچ)`,
    `علی،${RLM} مریم، و رضا`,
  ]) {
    assert.equal(isDisplayValue(value), true, JSON.stringify(value))
    assert.equal(sanitizeDisplayValue(value), value)
  }
})

// Each of these reads differently on the screen than it is stored.
test('rejects marks that would draw numbers or words in another order', () => {
  const attacks = {
    'the halves of a number': `12${RLM}34`,
    'thousands and their rest': `1${RLM}.000`,
    'the digits behind a separator': `12,${RLM}500.00`,
    'the groups of an identifier': `${RLM}1234 5678`,
    'the groups of an IBAN': `DE89 ${RLM}3704 ${RLM}0044`,
    'the parts of a phone number': `+49 ${RLM}170 ${RLM}123`,
    'a reference and its year': `2024${RLM}/117`,
    'the day and a short year': `20${RLM}/5${RLM}/24`,
    'the parts of a date with another mark': `20${LRM}/5${LRM}/2024`,
    'one half of a date': `20${RLM}/5/2024`,
    'a date and the number behind it': `20${RLM}/5${RLM}/2024، 100 200`,
    'the ends of a range': `${RLM}100–250 ₪`,
    'two amounts': `${RLM}100 ₪ ${RLM}200 ₪`,
    'two names': `Alice${RLM} pays`,
    'payer and payee': `Bob pays 100 ${RLM}Alice`,
    'two words from right to left': `משה${LRM} לוי`,
    'numbers in a list': `١٠٠،${RLM} ٢٠٠`,
    'a currency and two numbers': `${RLM}100 USD 2009`,
    'a zone behind numbers': `100 200 (${LRM}−4 گرینویچ)`,
  }
  for (const [name, value] of Object.entries(attacks)) {
    assert.equal(isDisplayValue(value), false, name)
    assert.doesNotMatch(sanitizeDisplayValue(value), MARKS, name)
  }
})

test('rejects each other character that reorders text, in a value too', () => {
  for (const code of [0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069])
    for (const value of [
      `${String.fromCodePoint(code)}12,500.00 ₪`,
      `a${String.fromCodePoint(code)}`,
    ])
      assert.equal(isDisplayValue(value), false, code.toString(16))
})

test('rejects three marks in a row, and a value of marks only', () => {
  for (const value of [`${RLM.repeat(3)}12 ₪`, RLM, ` ${RLM} `, `${RLM}${LRM}`])
    assert.equal(isDisplayValue(value), false, JSON.stringify(value))
})

test('rejects marks in labels, titles and names', () => {
  for (const text of [`${RLM}סכום`, `Amount${LRM}`, `${ALM}مبلغ`])
    assert.equal(isDisplayText(text), false, JSON.stringify(text))
})

test('a value with marks has one number, with no mark in it, or is a whole date or a list', () => {
  const part = fc.constantFrom(
    LRM,
    RLM,
    ALM,
    '1',
    '23',
    '٤',
    '.',
    ',',
    '/',
    '-',
    ' ',
    '₪',
    'a',
    'א',
    '،',
    '%',
    '(',
    ')',
  )
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 9 }).map((parts) => parts.join('')),
      (value) => {
        if (!isDisplayValue(value) || !hasDirectionalMark(value)) return
        if (/^[\d٤]+\u200f\/[\d٤]+\u200f\//.test(value) || /\p{L}،\u200f/u.test(value)) return
        const numbers = value.replaceAll(/(?<=[\d٤])[.,](?=[\d٤])/g, '').match(/[\d٤]+/g) ?? []
        assert.equal(numbers.length, 1, JSON.stringify(value))
      },
    ),
    { numRuns: 20_000 },
  )
})
