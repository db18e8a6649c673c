import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { createAndroidAuthority, der, honestDescription } from '@bonded/phone/simulator'
import { type Element, type Encoding, readElement, TAG, unlessMalformed } from '../src/adapters/proofs/der/element.ts'
import { readBoolean, readInteger, readOctets, readOid, readSequence, readTime } from '../src/adapters/proofs/der/values.ts'
import { inDer } from '../src/adapters/proofs/der/write.ts'
import { readCertificate } from '../src/adapters/proofs/x509/certificate.ts'

const ENCODINGS = ['der', 'file', 'ber'] as const

/** What is written, how it is read, and who may write it so. */
const SPELLINGS: readonly (readonly [what: string, hex: string, read: (element: Element) => unknown, by: readonly Encoding[]])[] = [
  ['an integer', '020105', readInteger, ENCODINGS],
  ['a padded integer', '02020005', readInteger, []],
  ['an integer of no bytes', '0200', readInteger, []],
  ['true', '0101ff', readBoolean, ENCODINGS],
  ['true as it is not written', '010101', readBoolean, ['file', 'ber']],
  ['a length that is longer than needed', '04810100', readOctets, ['file', 'ber']],
  ['a length with a leading zero', `04820080${'00'.repeat(0x80)}`, readOctets, ['file', 'ber']],
  ['an open length', '30800201050000', readSequence, ['ber']],
  ['an open length that nothing ends', '3080020105', readSequence, []],
  ['an open length of what holds no elements', '04800000', readOctets, []],
  ['open lengths of 40 levels', `${'3080'.repeat(40)}${'0000'.repeat(40)}`, readSequence, []],
  ['bytes in pieces', '2406040101040102', readOctets, ['ber']],
  ['a tag in the long form', 'bf8545020500', ({ tag }) => (tag === TAG.context(709) ? tag : undefined), ENCODINGS],
  ['a small tag in the long form', 'bf0a020500', () => true, []],
  ['a padded tag', 'bf8041020500', () => true, []],
  ['tag 0', '0000', () => true, []],
  ['an identifier', '0603550406', readOid, ENCODINGS],
  ['a padded identifier', '060455800406', readOid, []],
  ['an identifier that goes on', '06025584', readOid, []],
  ['a time without seconds', '170b323631313231303933305a', readTime, ['ber']],
  ['something after it', '02010500', readInteger, []],
  ['less than its length', '020205', readInteger, []],
]

for (const [what, hex, read, by] of SPELLINGS) {
  test(`der: ${what} is read ${by.length === 0 ? 'by nobody' : `as ${by.join(', ')}`}`, () => {
    const readers = ENCODINGS.filter((encoding) => unlessMalformed(() => read(readElement(Buffer.from(hex, 'hex'), encoding))) !== undefined)
    assert.deepEqual(readers, by)
  })
}

test('der: BER written anew has short lengths and the members of a SET in order', () => {
  const ber = Buffer.from('3180020107028101050000', 'hex')
  assert.equal(inDer(readElement(ber, 'ber')).toString('hex'), '3106020105020107')
})

test('x509: what no honest issuer writes is no certificate, and what only states write is none of a phone', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const [leaf = Buffer.alloc(0)] = createAndroidAuthority().attest(publicKey, honestDescription(Buffer.alloc(32)))
  const [body, algorithm, signature] = readSequence(readElement(leaf))
  const fields = readSequence(body).map(({ whole }) => whole)
  assert.ok(algorithm && signature)
  const rebuilt = (bent: readonly Uint8Array[]) => der.sequence(der.sequence(...bent), algorithm.whole, signature.whole)
  const reads = (bent: readonly Uint8Array[]) =>
    (['der', 'ber'] as const).filter((encoding) => readCertificate(rebuilt(bent), encoding) !== undefined)
  const extensions = (...list: Uint8Array[]) => fields.with(7, der.explicit(3, der.sequence(...list)))
  const extension = (...parts: Uint8Array[]) => der.sequence(der.oid('1.2.3.4'), ...parts, der.octets(Buffer.alloc(1)))
  assert.deepEqual(reads(fields), ['der', 'ber'])
  assert.deepEqual(reads(extensions(extension(der.boolean(true)))), ['der', 'ber'])
  assert.deepEqual(reads(extensions(extension(der.boolean(false)))), ['der', 'ber'])
  assert.deepEqual(reads(fields.with(1, der.element(0x02, Buffer.of(0xb5)))), ['ber'])
  for (const bent of [
    extensions(),
    extensions(extension(), extension()),
    fields.with(0, der.explicit(0, der.integer(3))),
    fields.with(2, der.sequence(der.oid('1.2.840.10045.4.3.3'))),
    fields.toSpliced(7, 0, der.element(0x81, Buffer.of(0, 1))),
    [...fields, der.nothing()],
  ])
    assert.deepEqual(reads(bent), [])
})
