import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { parseInstant } from '../src/index.ts'

/** Any instant that RFC 3339 can write. */
const anyInstant = fc
  .date({
    min: new Date('0000-01-01T00:00:00.000Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.getTime())
const anyOffset = fc.constantFrom('Z', '+00:00')

test('reads every usual form of one instant as the same milliseconds', () => {
  fc.assert(
    fc.property(anyInstant, fc.nat({ max: 999_999 }), anyOffset, (instant, beyond, offset) => {
      const text = new Date(instant).toISOString().slice(0, -1)
      const further = String(beyond).padStart(6, '0')
      for (let decimals = 0; decimals <= 6; decimals++)
        assert.equal(parseInstant(`${text}${further.slice(0, decimals)}${offset}`), instant)
    }),
  )
})

test('reads no decimals, one, and two as tenths and hundredths of a second', () => {
  fc.assert(
    fc.property(anyInstant, fc.integer({ min: 0, max: 2 }), anyOffset, (instant, count, offset) => {
      const unit = 10 ** (3 - count)
      const whole = Math.floor(instant / unit) * unit
      const text = new Date(whole).toISOString().slice(0, count === 0 ? -5 : count - 4)
      assert.equal(parseInstant(`${text}${offset}`), whole)
    }),
  )
})

test('rejects other offsets, other separators, and dates that do not exist', () => {
  for (const text of [
    '',
    '2026-11-21',
    '2026-11-21T09:30Z',
    '2026-11-21T09:30:00',
    '2026-11-21T09:30:00.Z',
    '2026-11-21T09:30:00.1234567890Z',
    '2026-11-21T09:30:00,123Z',
    '2026-11-21t09:30:00z',
    '2026-11-21 09:30:00Z',
    '2026-11-21T09:30:00+01:00',
    '2026-11-21T09:30:00-00:00',
    '2026-11-21T09:30:00+0000',
    '2026-11-21T24:00:00Z',
    '2026-11-21T23:59:60Z',
    '2026-02-30T09:30:00Z',
    '2025-02-29T09:30:00Z',
    '2026-00-10T09:30:00Z',
    '+002026-11-21T09:30:00Z',
    ' 2026-11-21T09:30:00Z',
    '2026-11-21T09:30:00Z\n',
    '２026-11-21T09:30:00Z',
  ])
    assert.equal(parseInstant(text), undefined, JSON.stringify(text))
  assert.equal(parseInstant('2024-02-29T09:30:00Z'), Date.parse('2024-02-29T09:30:00.000Z'))
})

test('reads no text that is not RFC 3339 in UTC', () => {
  const anyText = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(...'0123456789-:.TZ+ '.split('')) }),
    anyInstant.chain((instant) => {
      const text = new Date(instant).toISOString()
      return fc
        .tuple(fc.nat({ max: text.length }), fc.string({ maxLength: 2 }))
        .map(([index, other]) => text.slice(0, index) + other + text.slice(index + 1))
    }),
  )
  fc.assert(
    fc.property(anyText, (text) => {
      const instant = parseInstant(text)
      if (instant === undefined) return
      const written = new Date(instant).toISOString()
      assert.equal(text.slice(0, 19), written.slice(0, 19), text)
    }),
  )
})
