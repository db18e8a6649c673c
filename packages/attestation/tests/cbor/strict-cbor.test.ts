import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { pointOf, readCoseKey } from '../../src/cbor/cose-key.ts'
import { bytesOf, decodeCbor, decodeFirstCbor, membersOf } from '../../src/cbor/strict-cbor.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')

/** Values in their only permitted encoding, and what they decode to. */
const VALUES: readonly (readonly [hex: string, value: unknown])[] = [
  ['00', 0],
  ['1818', 24],
  ['26', -7],
  ['1b0020000000000000', 2n ** 53n],
  ['f5', true],
  ['f6', null],
  ['63666d74', 'fmt'],
  ['63e282ac', '€'],
  ['420001', new Uint8Array([0, 1])],
  ['82 01 6161', [1, 'a']],
  // Members stay in the order in which they came.
  [
    'a2 02 01 01 02',
    new Map([
      [2, 1],
      [1, 2],
    ]),
  ], // prettier-ignore
]

/**
 * The same and other values in invalid encodings. Another reader would read another value, or the
 * same value from other bytes.
 */
const MISSPELLED: readonly (readonly [what: string, hex: string])[] = [
  ['nothing', ''],
  ['an integer with a longer head', '1800'],
  ['an integer written as a half float', 'f94400'],
  ['an integer written as a float', 'fa40800000'],
  ['an integer written as a double', 'fb4010000000000000'],
  ['minus zero', 'f98000'],
  ['a fraction', 'f93e00'],
  ['no number', 'f97e00'],
  ['infinity', 'f97c00'],
  ['undefined', 'f7'],
  ['a simple value that is false', 'f814'],
  ['text with a mark of its byte order', '66efbbbf666d74'],
  ['long text with a mark of its byte order', `7842efbbbf${'61'.repeat(63)}`],
  ['text that is no UTF-8', '61ff'],
  ['text in pieces', '7f61666161ff'],
  ['bytes in pieces', '5f4101ff'],
  ['a list without a length', '9f01ff'],
  ['a map without a length', 'bf0102ff'],
  ['a tagged value', 'c101'],
  ['a key twice', 'a201000100'],
  ['a key twice, once as a float', 'a20100f93c0000'],
  ['a key as a float', 'a1f93c0000'],
  ['less than its length', '6261'],
  ['a list of more than there is', '8201'],
  ['a list nested deeper than a stack', '81'.repeat(100_000)],
]

for (const [hex, value] of VALUES) {
  test(`cbor: reads ${hex}, and the same value if more bytes follow`, () => {
    assert.deepEqual(decodeCbor(bytes(hex)), value)
    assert.deepEqual(decodeFirstCbor(bytes(`${hex}00ff`)), { value, rest: bytes('00ff') })
    assert.equal(decodeCbor(bytes(`${hex}00`)), undefined)
  })
}

for (const [what, hex] of MISSPELLED) {
  test(`cbor: rejects ${what}, alone and in a list`, () => {
    assert.equal(decodeCbor(bytes(hex)), undefined)
    assert.equal(decodeFirstCbor(bytes(hex)), undefined)
    assert.equal(decodeCbor(bytes(`81${hex}`)), undefined)
  })
}

test('cbor: reads members by exact text keys in order, and no key that converts to such a text', () => {
  const read = (hex: string) => membersOf(decodeCbor(bytes(hex)), ['x5c', 'a'])
  assert.deepEqual(read('a2 63783563 01 6161 02'), { x5c: 1, a: 2 })
  for (const [what, hex] of [
    ['another order', 'a2 6161 02 63783563 01'],
    ['one less', 'a1 63783563 01'],
    ['one more', 'a3 63783563 01 6161 02 6162 03'],
    ['a list of the key', 'a2 8163783563 01 6161 02'],
    ['a list of the other key', 'a2 63783563 01 816161 02'],
    ['both keys in one text', 'a1 657835632c61 01'],
    ['bytes of the key', 'a2 43783563 01 4161 02'],
    ['a list', '82 63783563 6161'],
    ['a text', '657835632c61'],
  ] as const)
    assert.equal(read(hex), undefined, what)
})

test('cbor: decodes only byte strings as bytes', () => {
  assert.deepEqual(bytesOf(decodeCbor(bytes('4161'))), Buffer.from('a'))
  for (const hex of ['6161', '811861', '1861', 'f6', 'a0'])
    assert.equal(bytesOf(decodeCbor(bytes(hex))), undefined, hex)
})

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
const [X, Y] = [x, y].map((coordinate) => Buffer.from(coordinate, 'base64url').toString('hex'))
const HONEST = { 1: '02', 3: '26', '-1': '01', '-2': `5820${X}`, '-3': `5820${Y}` }
const LABELS = { 1: '01', 3: '03', '-1': '20', '-2': '21', '-3': '22', '-4': '23' }
type Label = keyof typeof LABELS

/** A COSE key of these members: each as it is written, or left out. */
const keyOf = (tamper: { readonly [L in Label]?: string | undefined } = {}) => {
  const members = Object.entries({ ...HONEST, ...tamper }).filter(
    ([, value]) => value !== undefined,
  )
  return bytes(
    `${(0xa0 | members.length).toString(16)}${members.map(([label, value]) => LABELS[label as unknown as Label] + value).join('')}`,
  )
}

test('cose: reads the same public key as Node', () => {
  assert.ok(readCoseKey(keyOf())?.equals(publicKey))
  assert.equal(pointOf(decodeCbor(keyOf()))?.toString('hex'), `04${X}${Y}`)
})

for (const [what, tamper] of [
  ['of another type', { 1: '01' }],
  ['of a type written as a float', { 1: 'f94000' }],
  ['for another algorithm', { 3: '3822' }],
  ['that says no algorithm', { 3: undefined }],
  ['on another curve', { '-1': '02' }],
  ['on secp256k1, whose points are as long', { '-1': '08' }],
  ['without one of its coordinates', { '-3': undefined }],
  ['with its coordinates as text', { '-2': `7820${'61'.repeat(32)}` }],
  ['with a padded coordinate', { '-2': `582100${X}` }],
  ['with a short coordinate', { '-3': `581f${'01'.repeat(31)}` }],
  ['with the sign of a coordinate in its place', { '-3': 'f5' }],
  ['with its private half', { '-4': `5820${'01'.repeat(32)}` }],
] as const) {
  test(`cose: rejects a key ${what}`, () => {
    assert.equal(pointOf(decodeCbor(keyOf(tamper))), undefined)
    assert.equal(readCoseKey(keyOf(tamper)), undefined)
  })
}

test('cose: rejects a point outside the curve, bytes after a key, and a value other than a map', () => {
  assert.equal(
    readCoseKey(keyOf({ '-2': `5820${'00'.repeat(32)}`, '-3': `5820${'00'.repeat(32)}` })),
    undefined,
  )
  assert.equal(readCoseKey(Buffer.concat([keyOf(), Buffer.of(0)])), undefined)
  for (const hex of ['', 'a0', '80', '40', '850102030405'])
    assert.equal(readCoseKey(bytes(hex)), undefined, hex)
})
