import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { der, createPassportChip, createMrz } from '@bonded/simulator'
import { verifyPassport, type PassportInput } from '../../src/passport/verify-passport.ts'
import { CountryTrust } from '../../src/passport/country-trust.ts'
import {
  attribute,
  attributesOf,
  digestNamed,
  signerIdOf,
  signerIdByKey,
  type SignedDataOptions,
  type SignerOptions,
} from '../cms/test-cms.ts'
import {
  dg1With,
  hashesOf,
  keyIdOf,
  nameIn,
  newKeys,
  securityObject,
  signedByState,
  createTestState,
  type StateCertificateOptions,
  USAGE,
} from './test-state.ts'
import { certificate } from './recordings.ts'

const { element, nothing, octets, oid, sequence, setOf, time } = der

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const SECOND_MS = 1_000
const DAY_MS = 86_400_000
const CHALLENGE = Buffer.from('a1b2c3d4e5f60718', 'hex')
const LDS = '2.23.136.1.1.1'

const { state, signer, stateWith, signerWith } = createTestState(NOW)
const stranger = newKeys()
const [COUNTRY, SIGNER] = [stateWith(), signerWith()]
const DG1 = dg1With(createMrz())
const chip = createPassportChip({ kind: 'ecdsa' })
const DG14 = chip.dg14 ?? Buffer.alloc(0)
const ANSWER = chip.answer(CHALLENGE)

interface Tampered {
  readonly dg1?: Buffer
  readonly dg14?: Buffer
  readonly dg15?: Buffer
  /** Signed by the state in place of a list of these data groups. */
  readonly object?: Buffer
  readonly contentType?: string
  readonly certificate?: Buffer
  readonly data?: Partial<SignedDataOptions>
  readonly signer?: Partial<SignerOptions>
  /** What a reader makes of EF.SOD. */
  readonly file?: (sod: Buffer) => Buffer
  readonly sent?: Partial<PassportInput>
  readonly trusted?: readonly Buffer[]
  readonly now?: number
}

function proofOf(bent: Tampered): PassportInput {
  const {
    dg1 = DG1,
    dg14,
    dg15,
    contentType = LDS,
    certificate: own = SIGNER,
    file = (sod) => sod,
  } = bent
  const groups = { 1: dg1, ...(dg14 && { 14: dg14 }), ...(dg15 && { 15: dg15 }) }
  const content = bent.object ?? securityObject(digestNamed('sha256'), ...hashesOf(groups))
  const signed = signedByState({
    contentType,
    content,
    certificate: own,
    key: signer.privateKey,
    data: bent.data,
    signer: bent.signer,
  })
  return {
    sod: file(element(0x77, signed)),
    dg1,
    dg14,
    dg15,
    challenge: CHALLENGE,
    now: bent.now ?? NOW,
    ...bent.sent,
  }
}
/** The tier, and the word of the check that kept it from being higher. */
const short = (bent: Tampered) => {
  const trust = new CountryTrust((bent.trusted ?? [COUNTRY]).map(certificate))
  return tierOf(verifyPassport(proofOf(bent), trust))
}
const CONTENT = securityObject(digestNamed('sha256'), ...hashesOf({ 1: DG1 }))
const [TYPE, DIGEST] = attributesOf(LDS, CONTENT) as [Buffer, Buffer]
const signedAttributes = (...list: readonly Buffer[]): Tampered => ({
  signer: { signedAttributes: list },
})
const by = (options: Partial<StateCertificateOptions>): Tampered => ({
  certificate: signerWith(options),
})
const listing = (...hashes: readonly (readonly [number, Uint8Array])[]): Tampered => ({
  object: securityObject(digestNamed('sha256'), ...hashes),
})
const [[, HASH]] = hashesOf({ 1: DG1 }) as [readonly [number, Buffer]]
const zone = (
  options: Parameters<typeof createMrz>[0],
  tamper = (text: string) => text,
): Tampered => ({
  dg1: dg1With(tamper(createMrz(options))),
})

const signedAt = (at: number) => signedAttributes(TYPE, DIGEST, attribute('5', time(at)))
const chipped = (sent: Partial<PassportInput>): Tampered => ({
  dg14: DG14,
  dg15: chip.dg15,
  sent: { activeAuthentication: ANSWER, ...sent },
})

function onCurve(curve: string): Tampered {
  const { publicKey, privateKey } = newKeys(curve)
  return { certificate: signerWith({ publicKey }), signer: { key: privateKey } }
}

/**
 * A stranger's certificate that has everything but a state: the signer that is named decides alone.
 */
function besideTheNamed(): Tampered {
  const certificate = signerWith({ publicKey: stranger.publicKey, issuerKey: stranger.privateKey })
  return {
    data: { certificates: [SIGNER, certificate] },
    signer: { signerId: signerIdOf(SIGNER), key: stranger.privateKey },
  }
}

/** What a forger would have believed, or an honest document that is odd, and what becomes of it. */
const PASSIVE: readonly (readonly [string, Tampered, string])[] = [
  ['an honest one', {}, 'document aa_not_sent'],
  // EF.SOD.
  [
    'the file’s own tag taken off',
    { file: (sod) => sod.subarray(sod.indexOf(Buffer.of(0x30))) },
    'document aa_not_sent',
  ],
  ['an empty file', { file: () => Buffer.alloc(0) }, 'none sod_unwrap'],
  ['a file that holds nothing', { file: () => element(0x77) }, 'none sod_unwrap'],
  [
    'something after the file',
    { file: (sod) => Buffer.concat([sod, nothing()]) },
    'none sod_unwrap',
  ],
  ['another version of SignedData', { data: { version: 1 } }, 'none sod_signed_data'],
  ['another version of the signer', { signer: { version: 3 } }, 'none sod_signed_data'],
  [
    'a signature over the content itself',
    { signer: { signedAttributes: undefined } },
    'none sod_signed_data',
  ],
  [
    'a digest that is not announced',
    { data: { digests: [digestNamed('sha384')] } },
    'none sod_signed_data',
  ],
  [
    'a digest that nobody knows',
    { signer: { digestSaid: sequence(oid('1.2.3.4')) } },
    'none sod_signed_data',
  ],
  ['nobody’s signature', { data: { signers: [] } }, 'none sod_signed_data'],

  // The list of data groups.
  [
    'a type that is no security object’s',
    { contentType: '1.2.840.113549.1.9.16.1.4' },
    'none lds_security_object',
  ],
  ['a list that is none', { object: octets('x') }, 'none lds_security_object'],
  ['a list of nothing', listing(), 'none lds_security_object'],
  [
    'a list with a digest that nobody knows',
    { object: securityObject(sequence(oid('1.2.3.4')), [1, HASH]) },
    'none lds_security_object',
  ],
  [
    'a list with one data group twice',
    listing([1, HASH], [1, Buffer.alloc(32)]),
    'none lds_security_object',
  ],
  ['a list with a data group 0', listing([0, HASH], [1, HASH]), 'none lds_security_object'],
  ['a list with a data group 17', listing([1, HASH], [17, HASH]), 'none lds_security_object'],

  // What the signer’s attributes say.
  [
    'attributes of another passport',
    signedAttributes(...attributesOf(LDS, Buffer.from('another'))),
    'none message_digest',
  ],
  [
    'attributes of another type',
    signedAttributes(...attributesOf('2.23.136.1.1.2', CONTENT)),
    'none message_digest',
  ],
  ['attributes without a digest', signedAttributes(TYPE), 'none message_digest'],
  ['attributes without a type', signedAttributes(DIGEST), 'none message_digest'],
  [
    'two digests',
    signedAttributes(TYPE, DIGEST, attribute('4', octets(Buffer.alloc(32)))),
    'none message_digest',
  ],
  [
    'an attribute of two digests',
    signedAttributes(TYPE, attribute('4', octets(hash('sha256', CONTENT, 'buffer')), octets('x'))),
    'none message_digest',
  ],
  [
    'a digest of another function',
    { signer: { digest: 'sha384' }, data: { digests: [digestNamed('sha384')] } },
    'none message_digest',
  ],

  // Who signed them.
  ['no certificate', { data: { certificates: [] } }, 'none sod_certificate'],
  ['no list of certificates', { data: { certificates: undefined } }, 'none sod_certificate'],
  [
    'a certificate of nobody',
    { data: { certificates: [signerWith({ subject: [] })] } },
    'none sod_certificate',
  ],
  [
    'a certificate by nobody',
    { data: { certificates: [signerWith({ issuer: [] })] } },
    'none sod_certificate',
  ],
  ['a stranger’s signature', { signer: { key: stranger.privateKey } }, 'none sod_signature'],
  ['a signature over other attributes', { signer: { over: setOf(TYPE) } }, 'none sod_signature'],
  [
    'a signature over the content under attributes of it',
    { signer: { over: CONTENT } },
    'none sod_signature',
  ],
  [
    'a signature said to be RSA',
    { signer: { algorithm: sequence(oid('1.2.840.113549.1.1.11')) } },
    'none sod_signature',
  ],
  [
    'a signature of which only the kind of key is told',
    { signer: { algorithm: sequence(oid('1.2.840.10045.2.1')) } },
    'document aa_not_sent',
  ],
  [
    'a signature in a way that nobody knows',
    { signer: { algorithm: sequence(oid('1.2.3.4')) } },
    'none sod_signature',
  ],
  [
    'a signature of which only the key is told, with another digest',
    { signer: { algorithm: sequence(oid('1.2.840.10045.2.1')), over: CONTENT } },
    'none sod_signature',
  ],
  [
    'attributes out of order, signed in order',
    { signer: { signedAttributes: [DIGEST, TYPE], over: setOf(TYPE, DIGEST) } },
    'document aa_not_sent',
  ],
  ['a signer’s key on a curve that no passport has', onCurve('secp256k1'), 'none sod_signature'],
  [
    'a signer that is named so that nobody can read it',
    { signer: { signerId: sequence() } },
    'document aa_not_sent',
  ],
  [
    'the state’s signer named, a stranger’s certificate beside it',
    besideTheNamed(),
    'none sod_signature',
  ],
  [
    'the signer’s certificate after eight others',
    { data: { certificates: [...Array.from({ length: 8 }, () => sequence()), SIGNER] } },
    'none sod_certificate',
  ],
  [
    'the signer’s certificate as the eighth',
    { data: { certificates: [...Array.from({ length: 7 }, () => sequence()), SIGNER] } },
    'document aa_not_sent',
  ],
  [
    'a signer named by its key',
    { signer: { signerId: signerIdByKey(keyIdOf(signer.publicKey)) } },
    'document aa_not_sent',
  ],
  [
    'a signer named by its key, in version 3',
    { signer: { version: 3, signerId: signerIdByKey(keyIdOf(signer.publicKey)) } },
    'document aa_not_sent',
  ],
  [
    'a signer named by its key, in a version of neither',
    { signer: { version: 2, signerId: signerIdByKey(keyIdOf(signer.publicKey)) } },
    'none sod_signed_data',
  ],

  // Who certified the signer.
  ['a signer of a state that nobody trusts', { trusted: [] }, 'none csca_unknown'],
  [
    'a signer by another name of the state',
    by({ issuer: nameIn('UT', 'Another state') }),
    'none csca_unknown',
  ],
  [
    'a signer that a stranger certified in the state’s name',
    by({ issuerKey: stranger.privateKey }),
    'none dsc_signature',
  ],
  [
    'a trusted certificate that may not issue others',
    { trusted: [stateWith({ usage: USAGE.signs })] },
    'none csca_unknown',
  ],
  [
    'a trusted certificate that is no authority',
    { trusted: [stateWith({ usage: undefined, isAuthority: false })] },
    'none csca_unknown',
  ],
  [
    'a trusted authority that says nothing of its usage',
    { trusted: [stateWith({ usage: undefined })] },
    'document aa_not_sent',
  ],
  [
    'a trusted certificate that calls itself no authority, as Turkey’s',
    { trusted: [stateWith({ isAuthority: false })] },
    'document aa_not_sent',
  ],
  ['a signer that enciphers', by({ usage: USAGE.enciphers }), 'none dsc_usage'],
  ['a signer that certifies as well', by({ usage: USAGE.both }), 'none dsc_usage'],
  [
    'an authority that says nothing of its usage',
    by({ usage: undefined, isAuthority: true }),
    'none dsc_usage',
  ],
  ['a signer that says nothing of its usage', by({ usage: undefined }), 'document aa_not_sent'],
  ['a signer for other purposes', by({ purposes: ['2.23.136.1.1.3'] }), 'none dsc_usage'],
  [
    'a signer with limits that nobody understands',
    by({ more: [{ id: '1.2.3.4', critical: true, value: nothing() }] }),
    'none dsc_usage',
  ],
  [
    'a signer with remarks that nobody understands',
    by({ more: [{ id: '1.2.3.4', value: nothing() }] }),
    'document aa_not_sent',
  ],

  // When.
  ['a signer that is no longer valid', by({ notAfter: NOW - SECOND_MS }), 'none dsc_validity'],
  ['a signer that is not valid yet', by({ notBefore: NOW + SECOND_MS }), 'none dsc_validity'],
  [
    'a signer that signed when it was valid',
    { ...by({ notAfter: NOW - SECOND_MS }), ...signedAt(NOW - DAY_MS) },
    'document aa_not_sent',
  ],
  ['a signer that signed before it was valid', signedAt(NOW - 11 * DAY_MS), 'none dsc_validity'],
  ['a signer that signs in the time to come', signedAt(NOW + SECOND_MS), 'none dsc_validity'],
  [
    'a signer from before the state’s certificate',
    by({ notBefore: NOW - 101 * DAY_MS }),
    'none dsc_validity',
  ],
  [
    'a signer from after the state’s certificate',
    { trusted: [stateWith({ notAfter: NOW - 11 * DAY_MS })] },
    'none dsc_validity',
  ],
  [
    'a state’s certificate that ran out after it had issued the signer’s',
    { trusted: [stateWith({ notAfter: NOW - 9 * DAY_MS })] },
    'document aa_not_sent',
  ],

  // The data groups.
  ['a DG1 that the state has not listed', listing([2, HASH]), 'none dg1_missing'],
  [
    'another DG1',
    { sent: { dg1: dg1With(createMrz({ documentNumber: 'X00000001' })) } },
    'none dg_hash',
  ],
  [
    'another DG14',
    { dg14: DG14, dg15: chip.dg15, sent: { dg14: element(0x6e, setOf()) } },
    'none dg_hash',
  ],
  [
    'another DG15',
    { dg14: DG14, dg15: chip.dg15, sent: { dg15: createPassportChip({ kind: 'ecdsa' }).dg15 } },
    'none dg_hash',
  ],
  ['a hash that was cut off', listing([1, HASH.subarray(0, 16)]), 'none dg_hash'],
  ['an empty hash', listing([1, Buffer.alloc(0)]), 'none dg_hash'],
  [
    'a listed DG1 with another file’s tag',
    { dg1: element(0x75, element(0x5f1f, Buffer.from(createMrz()))) },
    'none mrz',
  ],
  [
    'a listed DG1 with another field’s tag',
    { dg1: element(0x61, element(0x5f1e, Buffer.from(createMrz()))) },
    'none mrz',
  ],
  ['a listed DG1 with something after it', { dg1: Buffer.concat([DG1, nothing()]) }, 'none mrz'],
  ['a chip whose key the state has listed', chipped({}), 'chip'],
  [
    'a key of the forger’s own, that the state has not listed',
    { sent: { dg14: DG14, dg15: chip.dg15, activeAuthentication: ANSWER } },
    'document dg15_not_listed',
  ],
  [
    'a DG14 of the forger’s own, that the state has not listed',
    { dg15: chip.dg15, sent: { dg14: DG14, activeAuthentication: ANSWER } },
    'document dg14_not_listed',
  ],
  [
    'the answer of another chip',
    chipped({ activeAuthentication: createPassportChip({ kind: 'ecdsa' }).answer(CHALLENGE) }),
    'document aa_signature',
  ],
  [
    'an answer to another session’s challenge',
    chipped({ challenge: Buffer.alloc(8) }),
    'document aa_signature',
  ],

  // What the zone says: mrz.test.ts has the rest.
  [
    'a wrong digit that the state has signed',
    zone({}, (text) => text.replace('L898902C36', 'L898902C35')),
    'none mrz',
  ],
  ['a zone that is too long', zone({}, (text) => `${text}<`), 'none mrz'],
  ['a document of another state than the signer’s', zone({ issuingState: 'AUT' }), 'none country'],
  [
    'a signer of no state',
    {
      certificate: signerWith({
        subject: nameIn(undefined, 'Signer'),
        issuer: nameIn(undefined, 'State'),
      }),
      trusted: [stateWith({ subject: nameIn(undefined, 'State') })],
    },
    'none country',
  ],
  [
    'a signer that leaves the state to its issuer',
    by({ subject: nameIn(undefined, 'Signer') }),
    'document aa_not_sent',
  ],
  [
    'a signer of a state in small letters',
    by({ subject: nameIn('ut', 'Signer') }),
    'document aa_not_sent',
  ],
  [
    'two codes that only together are two of a state',
    { ...zone({ issuingState: 'UT' }), ...by({ subject: nameIn('OUT', 'Signer') }) },
    'none country',
  ],
  [
    'the last moment of its last day, in the west of the date line',
    { ...zone({ expiry: '261119' }), now: Date.parse('2026-11-20T12:00:00Z') - 1 },
    'document aa_not_sent',
  ],
  [
    'the moment after',
    { ...zone({ expiry: '261119' }), now: Date.parse('2026-11-20T12:00:00Z') },
    'none expired',
  ],
]

for (const [what, bent, expected] of PASSIVE)
  test(`a passport with ${what}: ${expected}`, () => assert.equal(short(bent), expected))

test('of many certificates by one name of the state, the one whose key the signer’s names is found', () => {
  const more = [{ id: '2.5.29.35', value: sequence(element(0x80, keyIdOf(state.publicKey))) }]
  const namesakes = Array.from({ length: 32 }, () => stateWith({ publicKey: newKeys().publicKey }))
  assert.equal(short({ ...by({ more }), trusted: [...namesakes, COUNTRY] }), 'document aa_not_sent')
  assert.equal(short({ ...by({}), trusted: [...namesakes, COUNTRY] }), 'none dsc_signature')
})

/** The tier, and the check that kept it from being higher. */
function tierOf(verdict: ReturnType<typeof verifyPassport>): string {
  if (!verdict.ok) return `none ${verdict.step}`
  return verdict.value.tier === 'chip' ? 'chip' : `document ${verdict.value.chipStep}`
}
