import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { createAndroidAuthority, der, honestDescription } from '@bonded/simulator'
import { readTlv } from '../../src/asn1/tlv.ts'
import { readSequence } from '../../src/asn1/values.ts'
import { digestOf, readAlgorithm, schemeOf } from '../../src/x509/algorithm.ts'
import { isValidAt, readCertificate } from '../../src/x509/certificate.ts'
import {
  EXTENSION,
  type Extended,
  hasUnknownCriticalExtension,
  keyIdOf,
  keyUsageOf,
  pathLengthOf,
  readExtensions,
  purposesOf,
} from '../../src/x509/extensions.ts'
import { readName } from '../../src/x509/name.ts'

const { boolean, explicit, integer, nothing, octets, oid, sequence, setOf, utf8 } = der
const ECDSA_SHA256 = '1.2.840.10045.4.3.2'
const VERSION = 0
const SERIAL = 1
const ALGORITHM = 2
const VALIDITY = 4
const SUBJECT = 5
const EXTENSIONS = 7

/** The parts of a certificate. What signs them does not matter: nothing is verified here. */
type Parts = readonly Uint8Array[]
const [leaf = Buffer.alloc(0)] = createAndroidAuthority().attest(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
  honestDescription(Buffer.alloc(32)),
)
const [body, algorithm, signature] = readSequence(readTlv(leaf))
const HONEST: Parts = readSequence(body).map(({ whole }) => whole)
assert.ok(algorithm && signature)

/**
 * Who reads a certificate of these parts, the algorithm standing inside as outside where nothing
 * else is said.
 */
function readersOf(parts: Parts, ...after: readonly Uint8Array[]) {
  const outside =
    after.length === 0
      ? [parts[ALGORITHM] ?? Buffer.alloc(0), signature?.whole ?? Buffer.alloc(0)]
      : after
  const certificate = sequence(sequence(...parts), ...outside)
  return (['der', 'ber'] as const).filter(
    (encoding) => readCertificate(certificate, encoding) !== undefined,
  )
}
const extended = (...list: Uint8Array[]) => HONEST.with(EXTENSIONS, explicit(3, sequence(...list)))
const extension = (...parts: Uint8Array[]) =>
  sequence(oid('1.2.3.4'), ...parts, octets(Buffer.alloc(1)))
const name = (...parts: Uint8Array[]) => sequence(setOf(...parts))
const commonName = (...texts: Uint8Array[]) => sequence(oid('2.5.4.3'), ...texts)
const time = der.time(0)
const bytes = (hex: string) => Buffer.from(hex, 'hex')

/** The fields of a certificate, and the function that reads each. */
const CERTIFICATES: readonly (readonly [
  what: string,
  parts: Parts,
  by: readonly ('der' | 'ber')[],
])[] = [
  ['an honest phone’s', HONEST, ['der', 'ber']],
  ['one with an extension that is critical', extended(extension(boolean(true))), ['der', 'ber']],
  [
    'one that says of an extension that it is not critical',
    extended(extension(boolean(false))),
    ['der', 'ber'],
  ],
  [
    'one whose critical flag is the BOOLEAN 0x01',
    extended(extension(der.element(0x01, Buffer.of(1)))),
    ['der', 'ber'],
  ],
  ['one whose critical flag has no value', extended(extension(der.element(0x01))), []],
  ['one without extensions', HONEST.slice(0, EXTENSIONS), ['der', 'ber']],
  ['one of serial number 0', HONEST.with(SERIAL, integer(0)), ['der', 'ber']],
  [
    'one of a negative serial number, as some states write',
    HONEST.with(SERIAL, bytes('0201b5')),
    ['ber'],
  ],
  ['one of a subject without a name', HONEST.with(SUBJECT, sequence()), ['der', 'ber']],
  ['one with a list of extensions that is empty', extended(), []],
  ['one with an extension twice', extended(extension(), extension()), []],
  // Read as none, a demand would be passed over.
  [
    'one with an extension that says more than that it is critical',
    extended(extension(boolean(true), nothing())),
    [],
  ],
  [
    'one with an extension that says otherwise that it is critical',
    extended(extension(integer(1))),
    [],
  ],
  ['one with an extension without a value', extended(sequence(oid('1.2.3.4'))), []],
  [
    'one with an extension whose value is no bytes',
    extended(sequence(oid('1.2.3.4'), integer(1))),
    [],
  ],
  ['one of version 4', HONEST.with(VERSION, explicit(0, integer(3))), []],
  ['one of version 0', HONEST.with(VERSION, explicit(0, bytes('0201ff'))), []],
  ['one of two versions', HONEST.with(VERSION, explicit(0, integer(2), integer(2))), []],
  [
    'one with two parameters of its algorithm',
    HONEST.with(ALGORITHM, sequence(oid(ECDSA_SHA256), nothing(), nothing())),
    [],
  ],
  ['one that begins and never ends', HONEST.with(VALIDITY, sequence(time)), []],
  ['one that ends twice', HONEST.with(VALIDITY, sequence(time, time, time)), []],
  [
    'one of a subject with nothing in a part of its name',
    HONEST.with(SUBJECT, sequence(setOf())),
    [],
  ],
  ['one of a subject with an attribute of no kind', HONEST.with(SUBJECT, name(sequence())), []],
  [
    'one of a subject with an attribute without a text',
    HONEST.with(SUBJECT, name(commonName())),
    [],
  ],
  [
    'one of a subject with an attribute of two texts',
    HONEST.with(SUBJECT, name(commonName(utf8('a'), utf8('b')))),
    [],
  ],
  ['one without a key', HONEST.slice(0, -2), []],
  ['one without a body', [], []],
  ['one with a unique id', HONEST.toSpliced(EXTENSIONS, 0, der.element(0x81, Buffer.of(0, 1))), []],
  ['one that goes on after its extensions', [...HONEST, nothing()], []],
]

for (const [what, parts, by] of CERTIFICATES) {
  test(`x509: ${what}: ${by.length === 0 ? 'rejected' : `accepted as ${by.join(' and ')}`}`, () => {
    assert.deepEqual(readersOf(parts), by)
  })
}

test('x509: rejects an outer algorithm that differs from the signed one, and bytes after the signature', () => {
  const own = HONEST[ALGORITHM] ?? Buffer.alloc(0)
  assert.deepEqual(readersOf(HONEST, own, signature.whole), ['der', 'ber'])
  assert.deepEqual(readersOf(HONEST, sequence(oid('1.2.840.10045.4.3.3')), signature.whole), [])
  assert.deepEqual(readersOf(HONEST, sequence(oid(ECDSA_SHA256), nothing()), signature.whole), [])
  assert.deepEqual(readersOf(HONEST, own, signature.whole, nothing()), [])
  assert.deepEqual(readersOf(HONEST, own), [])
})

test('x509: reads a version 1 certificate, which has no version and no extensions', () => {
  assert.deepEqual(
    readersOf(
      HONEST.slice(SERIAL, EXTENSIONS),
      HONEST[ALGORITHM] ?? Buffer.alloc(0),
      signature.whole,
    ),
    ['der', 'ber'],
  )
})

test('x509: rejects extensions in a certificate of version 1 or 2, which have none', () => {
  assert.deepEqual(readersOf(HONEST.slice(SERIAL)), [])
  assert.deepEqual(readersOf(HONEST.with(VERSION, explicit(0, integer(0)))), [])
  assert.deepEqual(readersOf(HONEST.with(VERSION, explicit(0, integer(1)))), [])
})

test('x509: reads certificates up to 8 KiB, and a state’s up to 16 KiB', () => {
  const ofLength = (length: number) =>
    extended(sequence(oid('1.2.3.4'), octets(Buffer.alloc(length))))
  assert.deepEqual(readersOf(ofLength(7 * 1024)), ['der', 'ber'])
  assert.deepEqual(readersOf(ofLength(8 * 1024)), ['ber'])
  assert.deepEqual(readersOf(ofLength(16 * 1024)), [])
})

test('x509: accepts a certificate from its first instant to its last', () => {
  const dates = { notBefore: 1_000, notAfter: 2_000 }
  const at = [999, 1_000, 1_500, 2_000, 2_001].map((instant) => isValidAt(dates, instant))
  assert.deepEqual(at, [false, true, true, true, false])
})

/** A certificate with one extension. */
const saying = (id: string, hex: string, critical = false): Extended => ({
  encoding: 'der',
  extensions: new Map([[id, { critical, value: bytes(hex) }]]),
})
const SAYS_NOTHING: Extended = { encoding: 'der', extensions: new Map() }

/** What basic constraints say, and how many authorities may stand below. */
const CONSTRAINTS: readonly (readonly [what: string, hex: string, below: number | undefined])[] = [
  ['an authority', '30030101ff', Number.POSITIVE_INFINITY],
  ['an authority of phones only', '30060101ff020100', 0],
  ['an authority of others', '30060101ff020102', 2],
  ['nothing', '3000', undefined],
  ['that it is none', '3003010100', undefined],
  ['that it is none, with a depth', '3006010100020105', undefined],
  ['a depth and no authority', '3003020105', undefined],
  ['an authority, as DER does not write it', '3003010101', undefined],
  ['an authority, and more', '30080101ff0201000500', undefined],
  ['an authority of a depth that is no number', '30060101ff0a0100', undefined],
  ['two things', '30030101ff0500', undefined],
  ['an authority without a list', '0101ff', undefined],
]

for (const [what, hex, below] of CONSTRAINTS) {
  test(`x509: basic constraints with ${what}: ${below === undefined ? 'not an authority' : below}`, () => {
    assert.equal(pathLengthOf(saying(EXTENSION.basicConstraints, hex)), below)
  })
}

test('x509: treats a certificate without basic constraints as a leaf', () => {
  assert.equal(pathLengthOf(SAYS_NOTHING), undefined)
})

test('x509: allows no usage if it is unreadable, and any usage if it is absent', () => {
  assert.equal(keyUsageOf(SAYS_NOTHING), undefined)
  assert.equal(keyUsageOf(saying(EXTENSION.keyUsage, '03020780')), 0x80)
  assert.equal(keyUsageOf(saying(EXTENSION.keyUsage, '03020106')), 0x06)
  for (const hex of ['', '0300', '0301', '030100', '040200ff', '030202040500'])
    assert.equal(keyUsageOf(saying(EXTENSION.keyUsage, hex)), 0, hex)
})

test('x509: allows no purpose if they are unreadable, and any purpose if they are absent', () => {
  assert.equal(purposesOf(SAYS_NOTHING), undefined)
  assert.deepEqual(purposesOf(saying(EXTENSION.extendedKeyUsage, '30070605678108030a')), [
    '2.23.136.3.10',
  ])
  assert.deepEqual(purposesOf(saying(EXTENSION.extendedKeyUsage, '3005060355040a')), ['2.5.4.10'])
  for (const hex of ['', '3000', '3003020105', '060355040a'])
    assert.deepEqual(purposesOf(saying(EXTENSION.extendedKeyUsage, hex)), [], hex)
})

test('x509: reads the subject key id and the authority key id separately', () => {
  const own = saying(EXTENSION.subjectKeyId, '04020102')
  const issuer = saying(EXTENSION.authorityKeyId, '300480020304')
  assert.equal(keyIdOf(own, 'own')?.toString('hex'), '0102')
  assert.equal(keyIdOf(own, 'issuer'), undefined)
  assert.equal(keyIdOf(issuer, 'issuer')?.toString('hex'), '0304')
  assert.equal(keyIdOf(issuer, 'own'), undefined)
  assert.equal(keyIdOf(saying(EXTENSION.subjectKeyId, '300480020304'), 'own'), undefined)
})

test('x509: reports unknown critical extensions, and only critical ones', () => {
  const understood = new Set<string>([EXTENSION.keyUsage])
  assert.equal(hasUnknownCriticalExtension(saying('1.2.3.4', '0500', true), understood), true)
  assert.equal(hasUnknownCriticalExtension(saying('1.2.3.4', '0500'), understood), false)
  const [usage, foreign] = [
    saying(EXTENSION.keyUsage, '0500', true),
    saying('1.2.3.4', '0500', true),
  ]
  for (const [one, other] of [
    [usage, foreign],
    [foreign, usage],
  ] as const) {
    const both = new Map([...one.extensions, ...other.extensions])
    assert.equal(
      hasUnknownCriticalExtension({ encoding: 'der', extensions: both }, understood),
      true,
    )
  }
  assert.equal(
    hasUnknownCriticalExtension(saying(EXTENSION.keyUsage, '0500', true), understood),
    false,
  )
})

test('x509: distinguishes an algorithm with parameters from the same one without', () => {
  const sha256 = '2.16.840.1.101.3.4.2.1'
  const read = (id: string, ...parameters: Uint8Array[]) =>
    readAlgorithm(readTlv(sequence(oid(id), ...parameters)))
  for (const parameters of [[], [nothing()]]) {
    assert.equal(digestOf(read(sha256, ...parameters)), 'sha256')
    assert.deepEqual(schemeOf(read(ECDSA_SHA256, ...parameters)), {
      scheme: 'ecdsa',
      digest: 'sha256',
    })
  }
  for (const parameters of [bytes('050100'), integer(1), sequence()]) {
    assert.equal(digestOf(read(sha256, parameters)), undefined)
    assert.equal(schemeOf(read(ECDSA_SHA256, parameters)), undefined)
  }
  assert.equal(schemeOf(read('1.2.840.113549.1.1.10')), undefined)
  assert.equal(digestOf(read('1.2.840.113549.2.5')), undefined)
})

test('x509: compares names by their components, ignoring case and spaces', () => {
  const canonical = (...parts: Uint8Array[]) =>
    readName(readTlv(sequence(...parts.map((part) => setOf(part))))).canonical
  const one = commonName(utf8('Bonded  CA'))
  assert.equal(canonical(one), canonical(commonName(der.printable(' bonded ca'))))
  assert.notEqual(canonical(one), canonical(commonName(utf8('Bonded CB'))))
  assert.notEqual(canonical(one), canonical(sequence(oid('2.5.4.10'), utf8('Bonded CA'))))
  assert.notEqual(canonical(one, commonName(utf8('x'))), canonical(commonName(utf8('x')), one))
})

test('x509: reads a critical flag of any non-zero byte as true', () => {
  for (const [byte, critical] of [
    [0x00, false],
    [0x01, true],
    [0x80, true],
    [0xff, true],
  ] as const) {
    const [list] = extended(extension(der.element(0x01, Buffer.of(byte)))).slice(EXTENSIONS)
    const read = readExtensions(readTlv(list ?? Buffer.alloc(0)))
    assert.equal(read.get('1.2.3.4')?.critical, critical, `0x${byte.toString(16)}`)
  }
})
