import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitMap } from '../../src/cbor/split-map.ts'

const split = (hex: string) => splitMap(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
const hexOf = (members: ReturnType<typeof splitMap>) =>
  members?.map(({ key, value }) => [key.toString('hex'), value.toString('hex')])

/** One item of every type and length form. */
const ITEMS: readonly (readonly [what: string, hex: string])[] = [
  ['an integer', '05'],
  ['an integer of one byte', '18ff'],
  ['an integer of two bytes', '19ffff'],
  ['an integer of four bytes', '1affffffff'],
  ['an integer of eight bytes', '1bffffffffffffffff'],
  ['a negative integer', '26'],
  ['bytes', '420001'],
  ['no bytes', '40'],
  ['text', '6161'],
  ['a list', '820102'],
  ['a list within a list', '818101'],
  ['a map', 'a10102'],
  ['a tag', 'c101'],
  ['true', 'f5'],
  ['an extended simple value', 'f820'],
  ['a half float', 'f93c00'],
  ['a float', 'fa3f800000'],
  ['a double', 'fb3ff0000000000000'],
  ['bytes in pieces', '5f41004101ff'],
  ['text in no pieces', '7fff'],
  ['an open list', '9f0102ff'],
  ['an empty open list', '9fff'],
  ['an open map', 'bf0102ff'],
  ['lists of 15 levels', `${'81'.repeat(15)}01`],
]

for (const [what, hex] of ITEMS)
  test(`splits a map whose member is ${what}`, () => {
    assert.deepEqual(hexOf(split(`a2 01 ${hex} 02 f6`)), [
      ['01', hex],
      ['02', 'f6'],
    ])
  })

const MALFORMED: readonly (readonly [what: string, hex: string])[] = [
  ['no bytes', ''],
  ['a list', '820102'],
  ['bytes after the map', 'a1010200'],
  ['a map that is cut off', 'a101'],
  ['a member without a value', 'a2010203'],
  ['a key twice', 'a201020103'],
  ['a map of indefinite length', 'bf0102ff'],
  ['a map with a longer head', 'b801 0102'],
  ['a map with a head of two bytes', 'b90001 0102'],
  ['an integer that is cut off', 'a10119ff'],
  ['bytes that are cut off', 'a1014200'],
  ['a list that is cut off', 'a1018201'],
  ['a map within it that is cut off', 'a101a101'],
  ['a reserved length', 'a1011c'],
  ['an integer of indefinite length', 'a1011f'],
  ['a tag of indefinite length', 'a101df01'],
  ['a break outside an indefinite length', 'a101ff'],
  ['a simple value with a longer head', 'a101f818'],
  ['an open list without an end', 'a1019f01'],
  ['an open map with a key and no value', 'a101bf01ff'],
  ['bytes with a piece of text', 'a1015f6161ff'],
  ['bytes with an open piece', 'a1015f5f4100ffff'],
  ['a piece that is cut off', 'a1015f4200ff'],
  ['lists of 16 levels', `a101${'81'.repeat(16)}01`],
  ['open lists of 16 levels', `a101${'9f'.repeat(16)}01${'ff'.repeat(16)}`],
  ['tags of 16 levels', `a101${'c1'.repeat(16)}01`],
  ['a list longer than any input', 'a1019bffffffffffffffff01'],
]

for (const [what, hex] of MALFORMED)
  test(`rejects ${what}`, () => assert.equal(split(hex), undefined))

test('splits a map of 24 and of 255 members', () => {
  for (const count of [24, 255]) {
    const members = Array.from(
      { length: count },
      (_, index) => `19${index.toString(16).padStart(4, '0')}f6`,
    )
    assert.equal(split(`b8${count.toString(16)}${members.join('')}`)?.length, count)
  }
})

test('splits an empty map', () => assert.deepEqual(split('a0'), []))
