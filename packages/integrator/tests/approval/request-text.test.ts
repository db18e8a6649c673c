import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDisplayLines } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import { requestText } from '../../src/approval/approval.ts'

test('writes the arguments as indented JSON', () => {
  assert.equal(requestText({ to: 'Müller', cents: 5 }), '{\n  "to": "Müller",\n  "cents": 5\n}')
})

for (const [what, given, written] of [
  ['a bidirectional override', 'a\u202eb', String.raw`a\u202eb`],
  ['a zero-width joiner', 'pay\u200dpal', String.raw`pay\u200dpal`],
  ['a blank after a blank', 'a\u00a0\u00a0b', 'a\u00a0' + String.raw`\u00a0b`],
  ['a pile of marks', 'e\u0301\u0301\u0301', String.raw`e\u0301\u0301\u0301`],
  ['a Cyrillic letter in a Latin word', 'p\u0430ypal', String.raw`p\u0430ypal`],
  ['a Greek letter in a Cyrillic word', 'ми\u03bf', String.raw`\u043c\u0438\u03bf`],
  ['a mathematical letter in a Latin word', 'p\u{1d41a}y', String.raw`p\ud835\udc1ay`],
] as const)
  test(`escapes ${what}`, () => {
    assert.equal(requestText({ to: given }), `{\n  "to": "${written}"\n}`)
  })

for (const word of ['привет', 'Ελλάδα', '東京タワー', 'שלום', 'naïve', 'IBAN получателя', 'हिन्दी'])
  test(`leaves ${word} as it is`, () => {
    assert.ok(requestText({ to: word }).includes(word))
    // A line break before a word is an escape of JSON, not a letter of it.
    assert.ok(requestText({ to: `\n${word}` }).includes(String.raw`\n${word}`))
  })

test('every text may be shown, and parses to the same arguments', () => {
  const letter = fc.constantFrom(
    ...Array.from('aеοԱя漢ش\u0301\u200d\u202e\u00a0\u3000 \n\\u"\u2800\u{1d159}'),
  )
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.array(letter).map((l) => l.join('')),
  )
  const isWellFormed = (text: string) => text.isWellFormed()
  const words = word.filter(isWellFormed)
  fc.assert(
    fc.property(
      fc.dictionary(words, fc.oneof(words, fc.integer(), fc.array(words)), {
        maxKeys: 6,
        noNullPrototype: true,
      }),
      (args) => {
        const text = requestText(args)
        assert.ok(isDisplayLines(text), text)
        assert.deepEqual(JSON.parse(text), args)
      },
    ),
  )
})

test('refuses more than a phone can show', () => {
  const lines = (count: number) => requestText({ list: Array.from({ length: count }, () => 1) })
  assert.equal(lines(196).split('\n').length, 200)
  for (const tooLong of [() => lines(197), () => requestText({ note: 'é'.repeat(4_096) })])
    assert.throws(tooLong, { code: 'text_too_long' })
})
