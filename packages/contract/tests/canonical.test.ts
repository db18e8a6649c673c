import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { canonicalJson, NotCanonicalError } from '../src/index.ts'
import { readVector, vectorsMissing } from './vectors.ts'

for (const name of ['arrays', 'french', 'structures', 'unicode', 'values', 'weird']) {
  test(`RFC 8785: ${name}.json has the published canonical bytes`, { skip: vectorsMissing }, () => {
    const canonical = canonicalJson(
      JSON.parse(readVector('jcs', 'input', `${name}.json`).toString('utf8')),
    )
    assert.equal(canonical, readVector('jcs', 'output', `${name}.json`).toString('utf8'))
    const hex = readVector('jcs', 'outhex', `${name}.txt`).toString('utf8').replaceAll(/\s/g, '')
    assert.equal(Buffer.from(canonical, 'utf8').toString('hex'), hex)
  })
}

test('RFC 8785: a thousand published numbers are written as published', {
  skip: vectorsMissing,
}, () => {
  const lines = readVector('jcs', 'es6numbers-1000.txt').toString('utf8').trim().split('\n')
  assert.equal(lines.length, 1000)
  for (const line of lines) {
    const [hex = '', expected] = line.split(',')
    const value = Buffer.from(hex.padStart(16, '0'), 'hex').readDoubleBE()
    assert.equal(canonicalJson(value), expected, line)
  }
})

const notJson: [string, unknown][] = [
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['undefined', undefined],
  ['an undefined member', { a: undefined }],
  ['a hole in an array', Array(1)],
  ['a lone surrogate', '\ud800'],
  ['a lone surrogate in a name', { '\udc00': 1 }],
  ['a bigint', 1n],
  ['a function', () => 1],
  ['a Date', new Date(0)],
  ['a Map', new Map()],
]
for (const [what, value] of notJson) {
  test(`rejects ${what} instead of dropping it`, () => {
    assert.throws(() => canonicalJson(value), NotCanonicalError)
  })
}

test('canonical text parses back to the same value, and is its own canonical text', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
      const text = canonicalJson(value)
      assert.equal(canonicalJson(JSON.parse(text)), text)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('sorts members canonically at every depth, also integer keys that JavaScript would sort first', () => {
  const reference = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    if (Array.isArray(value)) return `[${value.map(reference).join(',')}]`
    const members = Object.entries(value).map(
      ([name, member]) => [name, `${JSON.stringify(name)}:${reference(member)}`] as const,
    )
    return `{${members
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, text]) => text)
      .join(',')}}`
  }
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 3 }),
    fc.nat(20).map(String),
    fc.constantFrom('__proto__', 'toJSON', '-1', '01'),
  )
  const { value } = fc.letrec((again) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.integer(),
      fc.string({ unit: 'grapheme' }),
      fc.constant(null),
      fc.array(again('value')),
      again('object'),
    ),
    object: fc
      .array(fc.tuple(name, again('value')), { maxLength: 5 })
      .map((members) => Object.fromEntries(members) as unknown),
  }))
  fc.assert(
    fc.property(value, (given) => assert.equal(canonicalJson(given), reference(given))),
    { numRuns: 2_000 },
  )
})
