import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMrz } from '@bonded/simulator'
import { readMrz } from '../../src/passport/mrz.ts'

const replaceAt = (text: string, at: number, character: string) =>
  text.slice(0, at) + character + text.slice(at + 1)

/** What the last digit of a zone covers, and where it stands, by the zone's length. */
const COMPOSITE: Readonly<
  Record<
    number,
    { readonly at: number; readonly of: readonly (readonly [from: number, to: number])[] }
  >
> = {
  90: {
    at: 59,
    of: [
      [5, 30],
      [30, 37],
      [38, 45],
      [48, 59],
    ],
  },
  72: {
    at: 71,
    of: [
      [36, 46],
      [49, 56],
      [57, 71],
    ],
  },
  88: {
    at: 87,
    of: [
      [44, 54],
      [57, 64],
      [65, 87],
    ],
  },
}
const digitOf = (text: string) => {
  const values = text
    .split('')
    .map(
      (character, index) =>
        (character === '<' ? 0 : Number.parseInt(character, 36)) * ([7, 3, 1][index % 3] ?? 0),
    )
  return String(values.reduce((sum, value) => sum + value, 0) % 10)
}
/** Returns it with a valid last digit, so that the tested digit is the only mistake. */
function sealed(text: string): string {
  const { at, of } = COMPOSITE[text.length] ?? { at: 0, of: [] }
  return replaceAt(text, at, digitOf(of.map(([from, to]) => text.slice(from, to)).join('')))
}
const nextDigit = (text: string, at: number) =>
  replaceAt(text, at, String((Number(text[at]) + 1) % 10))

/**
 * A card whose number goes on in the optional data, its digit after it: with something else in
 * their place.
 */
function longNumber(tamper: (rest: string) => string): string {
  const text = createMrz({ format: 'TD1', documentNumber: 'AB1234567890C' })
  const [rest = ''] = text.slice(15, 30).split('<')
  return sealed(text.slice(0, 15) + tamper(rest).padEnd(15, '<') + text.slice(30))
}

const FORMATS = ['TD1', 'TD2', 'TD3'] as const
/** Where the digits of number, birth, expiry and personal number stand. */
const DIGITS_AT = { TD1: [14, 36, 44], TD2: [45, 55, 63], TD3: [53, 63, 71, 86] } as const
const LAST_AT = { TD1: 59, TD2: 71, TD3: 87 } as const

test('reads state, number, and expiry of a zone in each format', () => {
  for (const format of FORMATS) {
    const read = readMrz(
      createMrz({ format, issuingState: 'D', documentNumber: 'C11T002', expiry: '261121' }),
    )
    assert.deepEqual(
      read,
      {
        issuingState: 'D',
        documentNumber: 'C11T002',
        expiresAt: Date.parse('2026-11-22T12:00:00Z'),
      },
      format,
    )
  }
})

test('verifies each check digit: rejects a wrong one under a valid last digit, and a wrong last one', () => {
  for (const format of FORMATS) {
    const right = createMrz({ format })
    assert.equal(sealed(right), right)
    for (const at of DIGITS_AT[format])
      assert.equal(readMrz(sealed(nextDigit(right, at))), undefined, `${format} at ${at}`)
    assert.equal(readMrz(nextDigit(right, LAST_AT[format])), undefined, format)
    // Optional data is covered by the last digit alone.
    if (format !== 'TD3')
      assert.equal(readMrz(replaceAt(right, format === 'TD1' ? 50 : 66, 'X')), undefined, format)
  }
})

/** Zones that are odd in one way, and the number that is read of them. */
const ODD: readonly (readonly [string, string, string | undefined])[] = [
  ['a long number', longNumber((rest) => rest), 'AB1234567890C'],
  ['a long number without its digit', longNumber((rest) => rest.replace(/\d$/, '')), undefined],
  [
    'a long number with a wrong digit',
    longNumber((rest) => rest.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10))),
    undefined,
  ],
  ['a long number that does not go on', longNumber(() => ''), undefined],
  [
    'a long number that goes on with a digit alone',
    longNumber(() => digitOf('AB1234567')),
    undefined,
  ],
  [
    'a number with a filler for its digit in TD3, where none goes on',
    sealed(replaceAt(createMrz(), 53, '<')),
    undefined,
  ],
  [
    'no personal number, and a filler for its digit',
    sealed(replaceAt(createMrz(), 86, '<')),
    'L898902C3',
  ],
  [
    'a personal number, and a filler for its digit',
    sealed(replaceAt(createMrz({ personalNumber: 'ZE184226B' }), 86, '<')),
    undefined,
  ],
  ['no number', createMrz({ documentNumber: '' }), undefined],
  ['nothing', '', undefined],
  ['a character too many', `${createMrz()}<`, undefined],
  ['a character too few', createMrz().slice(0, -1), undefined],
  ['a letter of another alphabet', createMrz().replace('ANNA', 'ANÑA'), undefined],
  ['small letters', createMrz().replace('ANNA', 'anna'), undefined],
  ['a line break in place of a filler', createMrz().replace('MARIA<', 'MARIA\n'), undefined],
  ['no state', createMrz({ issuingState: '' }), undefined],
  ['a state with a gap', createMrz({ issuingState: 'U<O' }), undefined],
  ['a state with a number', createMrz({ issuingState: 'UT0' }), undefined],
  ['an end without a day', createMrz({ expiry: '3002<<' }), undefined],
  ['an end on the 31st of February', createMrz({ expiry: '300231' }), undefined],
  ['an end in the thirteenth month', createMrz({ expiry: '301301' }), undefined],
]

for (const [what, text, number] of ODD)
  test(`a zone with ${what}: ${number ?? 'rejected'}`, () =>
    assert.equal(readMrz(text)?.documentNumber, number))
