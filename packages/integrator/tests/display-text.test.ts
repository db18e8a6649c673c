import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDisplayValue } from '@bonded/contract'
import { fc } from '../../../tests/random.ts'
import { LANGUAGES, textsIn } from '../../../tests/harness/intl-texts.ts'
import { TEXT_KINDS } from '../../../tests/harness/text-kinds.ts'
import { displayText } from '../src/index.ts'

test('cleans what people type and paste, and says what it changed', () => {
  for (const [kind, { typed, shown }] of Object.entries(TEXT_KINDS)) {
    const { text, changes } = displayText(typed)
    if (shown === undefined) assert.deepEqual([text, changes], [typed, []], kind)
    else assert.ok(text === shown && changes.length > 0, `${kind}: ${text}`)
  }
  assert.deepEqual(displayText('12 High Street\r\nLondon').changes, ['spaces'])
  assert.deepEqual(displayText('Pay\u200bPal').changes, ['invisible'])
  assert.deepEqual(displayText('\u200b').changes, ['invisible', 'empty'])
  assert.equal(displayText(' ', { empty: 'none' }).text, 'none')
})

test('changes nothing that phones show as it is, in every language', () => {
  for (const language of LANGUAGES)
    for (const text of textsIn(language))
      assert.deepEqual(displayText(text), { text, changes: [] }, language)
})

test('removes directional marks that reorder the text, or all of them', () => {
  const amount = '\u200f12,500.00 \u200f₪'
  assert.deepEqual(displayText(amount).changes, [])
  assert.deepEqual(displayText(amount, { marks: false }), {
    text: '12,500.00 ₪',
    changes: ['marks'],
  })
  assert.deepEqual(displayText('\u200f1234 5678'), { text: '1234 5678', changes: ['marks'] })
  const range = new Intl.NumberFormat('he', { style: 'currency', currency: 'ILS' })
  assert.ok(isDisplayValue(displayText(range.formatRange(100, 250)).text))
})

test('removes nothing that a user sees', () => {
  const visible = (text: string) => text.match(/[\p{L}\p{N}\p{P}\p{S}]/gu)?.join('') ?? ''
  const hidden = new RegExp('[\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{1d159}]', 'gu')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const cleaned = displayText(text, { empty: '' })
      assert.equal(visible(cleaned.text), visible(text.replace(hidden, '')))
      assert.deepEqual(displayText(cleaned.text, { empty: '' }).text, cleaned.text)
      if (cleaned.changes.length === 0) assert.equal(cleaned.text, text)
    }),
  )
})
