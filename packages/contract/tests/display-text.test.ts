import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import {
  areLabelsDistinct,
  escapeHidden,
  escapeHiddenJson,
  isDisplayText,
  sanitizeDisplayText,
} from '../src/index.ts'

const LAST_CODE_POINT = 0x10ffff

/** Every code point that has one of these properties. */
function codePoints(properties: readonly string[]): number[] {
  const pattern = new RegExp(`[${properties.map((name) => `\\p{${name}}`).join('')}]`, 'u')
  return Array.from({ length: LAST_CODE_POINT + 1 }, (_, code) => code).filter((code) =>
    pattern.test(String.fromCodePoint(code)),
  )
}

const HIDDEN = codePoints([
  'Cc',
  'Cf',
  'Co',
  'Cs',
  'Zl',
  'Zp',
  'Default_Ignorable_Code_Point',
  'Variation_Selector',
  'Bidi_Control',
  'Noncharacter_Code_Point',
]).concat([0x2800, 0xfffc, 0x1d159, 0x13441, 0x13442])

const anyHidden = fc
  .nat({ max: HIDDEN.length - 1 })
  .map((index) => String.fromCodePoint(HIDDEN[index] ?? 0))

test('rejects every code point that is hidden, ignored, reordering, or without a fixed glyph', () => {
  for (const code of HIDDEN) {
    const text = `a${String.fromCodePoint(code)}b`
    assert.equal(isDisplayText(text), false, code.toString(16))
  }
})

test('rejects code points that Unicode has not assigned', () => {
  // Every 101st: there are 820,000.
  const unassigned = codePoints(['Cn']).filter((_, index) => index % 101 === 0)
  for (const code of [0x378, 0xe0080, ...unassigned])
    assert.equal(isDisplayText(`a${String.fromCodePoint(code)}b`), false, code.toString(16))
})

test('the categories hold the characters that attacks use', () => {
  const attacks = {
    'soft hyphen': 0xad,
    'combining grapheme joiner': 0x34f,
    'Arabic letter mark': 0x61c,
    'Hangul choseong filler': 0x115f,
    'Hangul jungseong filler': 0x1160,
    'Mongolian vowel separator': 0x180e,
    'zero width space': 0x200b,
    'zero width joiner': 0x200d,
    'right-to-left override': 0x202e,
    'word joiner': 0x2060,
    'right-to-left isolate': 0x2067,
    'Hangul filler': 0x3164,
    'variation selector 16': 0xfe0f,
    'byte order mark': 0xfeff,
    'halfwidth Hangul filler': 0xffa0,
    'interlinear annotation anchor': 0xfff9,
    'language tag': 0xe0001,
    'tag A': 0xe0041,
    'cancel tag': 0xe007f,
    'variation selector 17': 0xe0100,
    escape: 0x1b,
    'next line': 0x85,
    'control sequence introducer': 0x9b,
  }
  for (const [name, code] of Object.entries(attacks)) assert.ok(HIDDEN.includes(code), name)
})

test('accepts every letter, number, punctuation mark and symbol that is not hidden', () => {
  const hidden = new Set(HIDDEN)
  for (const code of codePoints(['L', 'N', 'P', 'S'])) {
    if (hidden.has(code)) continue
    assert.equal(isDisplayText(String.fromCodePoint(code)), true, code.toString(16))
  }
})

test('rejects a text without a visible character', () => {
  for (const code of codePoints(['Zs', 'M'])) {
    const text = String.fromCodePoint(code)
    assert.equal(isDisplayText(text), false, code.toString(16))
    assert.equal(isDisplayText(` ${text} `), false, code.toString(16))
  }
  for (const text of ['', ' ', '\u00a0\u2003\u3000', '\u2800\u2800'])
    assert.equal(isDisplayText(text), false, JSON.stringify(text))
})

test('rejects every run of white space, and accepts each white space singly', () => {
  const spaces = codePoints(['White_Space', 'Zs']).filter((code) => !HIDDEN.includes(code))
  assert.ok(spaces.includes(0x3000) && spaces.includes(0xa0) && spaces.length > 15)
  for (const one of spaces)
    for (const other of spaces) {
      const [first, second] = [String.fromCodePoint(one), String.fromCodePoint(other)]
      assert.equal(isDisplayText(`a${first}b${second}c`), true, one.toString(16))
      assert.equal(isDisplayText(`a${first}${second}b`), false, `${one} ${other}`)
    }
})

test('rejects a value that draws another row', () => {
  for (const value of [
    `Ada${' '.repeat(60)}Amount${' '.repeat(60)}€ 12.00`,
    `Ada${'\u00a0'.repeat(60)}Amount`,
    `Ada${'\u2003 '.repeat(30)}Amount`,
    `Ada${'\u2800'.repeat(60)}Amount`,
    'Ada\ufffcAmount',
    'Ada\u{e0080}Amount',
    'Ada\u0378Amount',
  ])
    assert.equal(isDisplayText(value), false, JSON.stringify(value))
  assert.equal(isDisplayText('山田\u3000太郎'), true)
})

test('rejects every combining mark three times in a row', () => {
  for (const code of codePoints(['M']))
    assert.equal(
      isDisplayText(`a${String.fromCodePoint(code).repeat(3)}`),
      false,
      code.toString(16),
    )
})

test('rejects more than two marks of no script, and more than four of any', () => {
  assert.equal(isDisplayText('e\u0301\u0323'), true)
  assert.equal(isDisplayText('e\u0301\u0323\u0302'), false)
  assert.equal(isDisplayText('a\u0489\u20dd\u0301\u0302'), false)
  assert.equal(isDisplayText('မ\u103c\u102d\u102f\u1037\u1038'), false)
})

test('accepts what banks write, in the scripts that people read', () => {
  const texts = [
    '€ 12,500.00',
    '12\u202f500,00\u00a0€',
    'Café Ünïcode ✓ 😀 👍🏽 🇩🇪',
    'Nguyễn Thị Hồng',
    'Nguyễn'.normalize('NFD'),
    'مُحَمَّد بن عبد الله',
    'בְּרֵאשִׁית',
    'ज़िंदगी बीमा',
    'မြို့တော်ဘဏ်',
    'ธนาคารที่กรุงเทพฯ',
    '東京都千代田区１−１',
    '서울특별시',
    'DE89 3704 0044 0532 0130 00',
  ]
  for (const text of texts) assert.equal(isDisplayText(text), true, text)
})

test('removes hidden and stacked characters, and changes no valid text', () => {
  const anyText = fc.string({
    unit: fc.oneof(
      anyHidden,
      fc.constantFrom('\u0301', '\u0302', '\u20dd', '\u0489', '\u103c'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
  })
  fc.assert(
    fc.property(anyText, (text) => {
      const shown = sanitizeDisplayText(text)
      assert.equal(isDisplayText(`x.${shown}`), true, JSON.stringify(text))
      assert.equal(sanitizeDisplayText(shown), shown)
      if (isDisplayText(text)) assert.equal(shown, text)
    }),
  )
})

test('labels that read alike are not distinct', () => {
  const display = (...labels: string[]) => labels.map((label) => ({ label, value: '1' }))
  assert.equal(areLabelsDistinct(display('Amount', 'To', 'Total amount')), true)
  assert.equal(areLabelsDistinct(display()), true)
  for (const label of ['Amount', 'amount', ' Amount ', 'AMOUNT', 'Ａmount', 'Amount\u00a0'])
    assert.equal(areLabelsDistinct(display('Amount', label)), false, label)
  assert.equal(areLabelsDistinct(display('Café', 'Cafe\u0301')), false)
  assert.equal(areLabelsDistinct(display('Total  amount', 'Total amount')), false)
})

test('escapes for a terminal make hidden characters readable and leave the rest', () => {
  assert.equal(
    escapeHidden('Café \u001b[2J\u202eXX\u{e0041}'),
    'Café \\u{1b}[2J\\u{202e}XX\\u{e0041}',
  )
  assert.equal(escapeHidden('one\ntwo'), 'one\\u{a}two')
})

test('escapes in JSON leave its value unchanged and print nothing hidden', () => {
  const hidden = new RegExp('[\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}]', 'u')
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    anyHidden.map((hiddenCharacter) => `a${hiddenCharacter}`),
  )
  fc.assert(
    fc.property(anyText, (text) => {
      const json = escapeHiddenJson(JSON.stringify({ [text]: text }, null, 2))
      assert.doesNotMatch(json.replaceAll('\n', ''), hidden)
      assert.deepEqual(JSON.parse(json), { [text]: text })
    }),
  )
})
