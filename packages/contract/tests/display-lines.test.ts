import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import {
  isDisplayLines,
  isDisplayText,
  MAX_TEXT_BYTES,
  MAX_TEXT_LINES,
  sanitizeDisplayLines,
} from '../src/index.ts'

test('accepts indented JSON in the scripts of all languages, line breaks and runs of spaces', () => {
  for (const text of [
    '{\n  "amount": "12,500.00",\n  "payee": "Café   Ünïcode ✓"\n}',
    'ผู้รับเงิน: สมชาย\n\nสรุป',
    '{\n  "שם": "משה",\n  "اسم": "سه\u200cشنبه"\n}',
    '名前：　山田　太郎',
    ' a \n',
  ])
    assert.equal(isDisplayLines(text), true, JSON.stringify(text))
})

test('rejects what hides, reorders or imitates a part of a text', () => {
  for (const text of [
    '',
    ' \n ',
    'a\r\nb',
    'a\tb',
    'a\u2028b',
    'a\u202eb',
    'a\u200eb',
    'a\u200bb',
    'a\u00a0 b',
    'a \u00a0b',
    'a\u3000\u3000b',
    'a\u2800b',
    'a\u0300\u0301\u0302b',
    'a\u{e0041}b',
    'a\ud800b',
  ])
    assert.equal(isDisplayLines(text), false, JSON.stringify(text))
})

test('accepts texts up to their largest size, in bytes and in lines', () => {
  assert.equal(isDisplayLines('a'.repeat(MAX_TEXT_BYTES)), true)
  assert.equal(isDisplayLines('a'.repeat(MAX_TEXT_BYTES + 1)), false)
  assert.equal(isDisplayLines('é'.repeat(MAX_TEXT_BYTES / 2)), true)
  assert.equal(isDisplayLines('é'.repeat(MAX_TEXT_BYTES / 2) + 'a'), false)
  assert.equal(isDisplayLines('a\n'.repeat(MAX_TEXT_LINES - 1)), true)
  assert.equal(isDisplayLines('a\n'.repeat(MAX_TEXT_LINES)), false)
})

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(fc.constantFrom('a', ' ', '\n', '\u00a0', '\u3000', '\u0301', '\u200c', 'ש', '\r'), {
      maxLength: 12,
    })
    .map((parts) => parts.join('')),
)

test('a text is accepted exactly if each line could be a label, apart from runs of spaces', () => {
  fc.assert(
    fc.property(anyText, (rest) => {
      const text = `x${rest}`
      const lines = text.split('\n').map((line) => `x${line.replaceAll(/ {2,}/g, ' ')}`)
      const isUnusual = /\n[^\S\n ]|[^\S\n ]\n/.test(text)
      const expected = !isUnusual && lines.every(isDisplayText)
      assert.equal(isDisplayLines(text), expected, JSON.stringify(text))
    }),
    { numRuns: 20_000 },
  )
})

test('a phone shows an accepted text unchanged, and of another nothing that is rejected', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const shown = sanitizeDisplayLines(text)
      if (isDisplayLines(text)) assert.equal(shown, text)
      assert.equal(isDisplayLines(`x${shown}`), true, JSON.stringify([text, shown]))
    }),
    { numRuns: 20_000 },
  )
})
