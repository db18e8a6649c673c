import assert from 'node:assert/strict'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import {
  type Tlv,
  type Encoding,
  Malformed,
  readTlv,
  TAG,
  unlessMalformed,
} from '../../src/asn1/tlv.ts'
import {
  readBits,
  readBoolean,
  readEnumerated,
  readExplicit,
  readInteger,
  readNull,
  readOctets,
  readOid,
  readSequence,
  readSmall,
  readTime,
} from '../../src/asn1/values.ts'
import { toDer } from '../../src/asn1/write.ts'

const ENCODINGS = ['der', 'file', 'ber'] as const

const timeOf = (text: string) => der.element(0x17, Buffer.from(text)).toString('hex')
const longTimeOf = (text: string) => der.element(0x18, Buffer.from(text)).toString('hex')

const tagged = (number: number) => der.explicit(number, der.nothing()).toString('hex')
/** What is written, how it is read, and who may write it so. */
type Spelling = readonly [
  what: string,
  hex: string,
  read: (element: Tlv) => unknown,
  by: readonly Encoding[],
]

const SPELLINGS: readonly Spelling[] = [
  ['an integer', '020105', readInteger, ENCODINGS],
  ['zero', '020100', readSmall, ENCODINGS],
  ['128, which needs a byte for its sign', '02020080', readInteger, ENCODINGS],
  ['-129, which needs two bytes', '0202ff7f', readInteger, ENCODINGS],
  ['a padded integer', '02020005', readInteger, []],
  ['an integer of no bytes', '0200', readInteger, []],
  ['a padded integer below zero', '0202ff80', readInteger, []],
  ['an integer as an enumerated', '020105', readEnumerated, []],
  ['an enumerated as an integer', '0a0105', readInteger, []],
  ['a number of 32 bits', '020500ffffffff', readSmall, ENCODINGS],
  ['a number of 33 bits', '02050100000000', readSmall, []],
  ['a number below zero', '0201ff', readSmall, []],
  ['true', '0101ff', readBoolean, ENCODINGS],
  ['false', '010100', readBoolean, ENCODINGS],
  ['true as it is not written', '010101', readBoolean, ['file', 'ber']],
  ['a truth of no bytes', '0100', readBoolean, []],
  ['a truth of two bytes', '0102ffff', readBoolean, []],
  ['nothing', '0500', readNull, ENCODINGS],
  ['nothing that says something', '050100', readNull, []],
  ['whole bytes of bits', '030200ff', readBits, ENCODINGS],
  ['bits that are no whole bytes', '03020780', readBits, []],
  ['bits without the number of those unused', '0300', readBits, []],
  ['a wrapping', 'a103020105', (element) => readExplicit(element, 1), ENCODINGS],
  ['another wrapping', 'a203020105', (element) => readExplicit(element, 1), []],
  ['a wrapping of nothing', 'a100', (element) => readExplicit(element, 1), []],
  ['a wrapping of two', 'a106020105020106', (element) => readExplicit(element, 1), []],
  ['a length that is longer than needed', '04810100', readOctets, ['file', 'ber']],
  ['a length of 128', `048180${'00'.repeat(0x80)}`, readOctets, ENCODINGS],
  ['a length of 65536', `0483010000${'00'.repeat(0x1_00_00)}`, readOctets, ENCODINGS],
  ['a length with a leading zero', `04820080${'00'.repeat(0x80)}`, readOctets, ['file', 'ber']],
  ['a length of more bytes than any object has', '0484000000010000', readOctets, []],
  ['a length of more bytes than a number has', `0487${'00'.repeat(7)}`, readOctets, []],
  ['a length that is cut off', '048201', readOctets, []],
  ['no length', '04', readOctets, []],
  ['no tag', '', () => true, []],
  ['an open length', '30800201050000', readSequence, ['ber']],
  ['an open length that half a mark ends', '308002010500ff', readSequence, []],
  ['an open length that nothing ends', '3080020105', readSequence, []],
  ['an open length of what holds no elements', '04800000', readOctets, []],
  ['open lengths of 40 levels', `${'3080'.repeat(40)}${'0000'.repeat(40)}`, readSequence, []],
  ['an open length within another', '3080308002010500000000', readSequence, ['ber']],
  ['an element without content in an open length', '308005000000', readSequence, ['ber']],
  ['bytes in pieces', '2406040101040102', readOctets, ['ber']],
  ['bytes in no pieces', '2400', readOctets, []],
  ['bytes in pieces that are no bytes', '2403020105', readOctets, []],
  [
    'a tag in the long form',
    'bf8545020500',
    ({ tag }) => (tag === TAG.context(709) ? tag : undefined),
    ENCODINGS,
  ],
  ...[30, 31, 127, 128, 16_383].map(
    (number): Spelling => [
      `tag ${number}`,
      tagged(number),
      ({ tag }) => (tag === TAG.context(number) ? tag : undefined),
      ENCODINGS,
    ],
  ),
  ['a small tag in the long form', 'bf0a020500', () => true, []],
  ['a tag of three septets', 'bf8180000101', () => true, []],
  ['a tag that goes on after two septets', 'bf818000', () => true, []],
  ['a tag that is cut off', 'bf85', () => true, []],
  ['a padded tag', 'bf8041020500', () => true, []],
  ['tag 0', '0000', () => true, []],
  ['an identifier', '0603550406', readOid, ENCODINGS],
  ['a padded identifier', '060455800406', readOid, []],
  ['an identifier that starts with padding', '06028001', readOid, []],
  ['an identifier that goes on', '06025584', readOid, []],
  ['an identifier of no bytes', '0600', readOid, []],
  ['an identifier too large to tell from its neighbour', `060a2a${'ff'.repeat(8)}7f`, readOid, []],
  ['a time', timeOf('261121093000Z'), readTime, ENCODINGS],
  ['a time of four digits', longTimeOf('20500101000000Z'), readTime, ENCODINGS],
  ['a time east of Greenwich', timeOf('261121093000+0100'), readTime, []],
  ['a time of no month', timeOf('261321093000Z'), readTime, []],
  ['the last of February', timeOf('280229000000Z'), readTime, ENCODINGS],
  ['a day after the last of February', timeOf('270229000000Z'), readTime, []],
  ['a day after the last of November', longTimeOf('20261131000000Z'), readTime, []],
  ['24 o’clock', timeOf('261121240000Z'), readTime, []],
  ['a time as text', Buffer.from('\x0c\x0d261121093000Z', 'latin1').toString('hex'), readTime, []],
  ['a time without seconds', '170b323631313231303933305a', readTime, ['ber']],
  ['a long time without seconds', longTimeOf('202611210930Z'), readTime, ['ber']],
  ['a time after another character', timeOf('1261121093000Z'), readTime, []],
  ['a time before another character', timeOf('261121093000Z0'), readTime, []],
  ['a long time after another character', longTimeOf('120261121093000Z'), readTime, []],
  ['a long time before another character', longTimeOf('20261121093000Z0'), readTime, []],
  ['something after it', '02010500', readInteger, []],
  ...['00', '05', '0500ff', '020105ff'].map(
    (content): Spelling => [
      `a sequence whose content ends within an element: ${content}`,
      der.sequence(Buffer.from(content, 'hex')).toString('hex'),
      readSequence,
      [],
    ],
  ),
  ['less than its length', '020205', readInteger, []],
]

for (const [what, hex, read, by] of SPELLINGS) {
  test(`der: ${what} is read as ${by.join(', ') || 'nothing'}`, () => {
    const readers = ENCODINGS.filter(
      (encoding) =>
        unlessMalformed(() => read(readTlv(Buffer.from(hex, 'hex'), encoding))) !== undefined,
    )
    assert.deepEqual(readers, by)
  })
}

test('der: reads a two-digit year in the century of RFC 5280', () => {
  const read = (hex: string) => new Date(readTime(readTlv(Buffer.from(hex, 'hex')))).toISOString()
  assert.equal(read(timeOf('500101000000Z')), '1950-01-01T00:00:00.000Z')
  assert.equal(read(timeOf('491231235959Z')), '2049-12-31T23:59:59.000Z')
  assert.equal(read(longTimeOf('20500101000000Z')), '2050-01-01T00:00:00.000Z')
})

test('der: re-encodes BER with short lengths and the members of a SET in order', () => {
  const ber = Buffer.from('3180020107028101050000', 'hex')
  assert.equal(toDer(readTlv(ber, 'ber')).toString('hex'), '3106020105020107')
})

test('der: does not re-encode BER that nests deeper than the limit', () => {
  const nested = (levels: number) =>
    Array.from({ length: levels }).reduce<Buffer>((inner) => der.sequence(inner), der.nothing())
  const rewritten = (levels: number) => toDer(readTlv(nested(levels), 'ber'))
  assert.deepEqual(rewritten(32), nested(32))
  assert.throws(() => rewritten(40), Malformed)
})
