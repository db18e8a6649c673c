import assert from 'node:assert/strict'
import { randomBytes, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import {
  createPassportAuthority,
  createPassportChip,
  createPassportSigner,
  createMasterList,
  createPassport,
  type PassportAuthority,
  type PassportSignatureOptions,
  type PassportOptions,
  type SimulatedPassport,
} from '@bonded/simulator'
import { verifyPassport, type PassportInput } from '../../src/passport/verify-passport.ts'
import { readMasterList } from '../../src/passport/read-master-list.ts'
import { CountryTrust } from '../../src/passport/country-trust.ts'
import { bitsOf, flipBit } from '../harness/flip-bit.ts'
import { certificate } from './recordings.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const DAY_MS = 86_400_000
const COUNTRY_NAME = 'Simulated Country Signing CA'
const CHALLENGE = Buffer.from('a1b2c3d4e5f60718', 'hex')

const authority = createPassportAuthority(NOW)
const trustIn = (...states: readonly PassportAuthority[]) =>
  new CountryTrust(states.map((state) => certificate(state.countryCertificate)))
const trust = trustIn(authority)
const rsaChip = createPassportChip({ kind: 'rsa' })
const ecdsaChip = createPassportChip({ kind: 'ecdsa' })
/** A chip that answers as Portugal's cards are said to. */
const derChip = createPassportChip({ kind: 'ecdsa', dsaEncoding: 'der' })

function proofOf(
  { sod, dg1, dg14, dg15, chip }: SimulatedPassport,
  challenge = CHALLENGE,
): Omit<PassportInput, 'now'> {
  return { sod, dg1, dg14, dg15, activeAuthentication: chip?.response(challenge), challenge }
}
const judge = (proof: Omit<PassportInput, 'now'>, by = trust, now = NOW) =>
  verifyPassport({ ...proof, now }, by)
/** The tier, and the word of the check that kept it from being higher. */
const short = (proof: Omit<PassportInput, 'now'>, by = trust, now = NOW) =>
  tierOf(judge(proof, by, now))

const DIGESTS = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const
const CURVES = [
  'prime192v1',
  'secp224r1',
  'prime256v1',
  'secp384r1',
  'secp521r1',
  ...[160, 192, 224, 256, 320, 384, 512].map((bits) => `brainpoolP${bits}r1`),
]
const SIGNATURES: readonly PassportSignatureOptions[] = [
  ...DIGESTS.map((digest) => ({ scheme: 'pkcs1', digest }) as const),
  ...DIGESTS.map((digest) => ({ scheme: 'pss', digest }) as const),
  ...DIGESTS.map((digest) => ({ scheme: 'ecdsa', digest }) as const),
  ...DIGESTS.map((digest) => ({ scheme: 'ecdsa-plain', digest }) as const),
  ...CURVES.map((curve) => ({ scheme: 'ecdsa', digest: 'sha256', curve }) as const),
  { scheme: 'pss', digest: 'sha256', maskDigest: 'sha1' },
  { scheme: 'pkcs1', digest: 'sha384', bare: true },
  { scheme: 'ecdsa', digest: 'sha384', bare: true },
  { scheme: 'ecdsa-plain', digest: 'sha256', bare: true },
]

test('accepts each signature scheme, digest, and curve of Doc 9303-12, and rejects a flipped bit', () => {
  for (const documentSignature of SIGNATURES) {
    const state = createPassportAuthority(NOW, { documentSignature })
    const { sod, dg1 } = createPassport(state)
    const name = JSON.stringify(documentSignature)
    assert.equal(
      short({ sod, dg1, challenge: CHALLENGE }, trustIn(state)),
      'document aa_not_sent',
      name,
    )
    // The signature stands last.
    assert.equal(
      short({ sod: flipBit(sod, sod.length * 8 - 9), dg1, challenge: CHALLENGE }, trustIn(state)),
      'none sod_signature',
      name,
    )
  }
})

test('accepts signer certificates in each scheme', () => {
  for (const countrySignature of SIGNATURES.filter(({ bare }) => bare !== true)) {
    const state = createPassportAuthority(NOW, { countrySignature })
    assert.equal(
      short(proofOf(createPassport(state)), trustIn(state)),
      'document aa_not_sent',
      JSON.stringify(countrySignature),
    )
  }
})

test('returns the tier chip for a signature over the challenge: RSA with each trailer, ECDSA with each digest and encoding', () => {
  for (const digest of DIGESTS) {
    const chips = [
      { kind: 'rsa', digest },
      { kind: 'ecdsa', digest },
      { kind: 'ecdsa', digest, dsaEncoding: 'der' },
    ] as const
    for (const chip of chips.map(createPassportChip)) {
      const passport = createPassport(authority, { chip })
      assert.equal(short(proofOf(passport)), 'chip', digest)
      assert.equal(
        short({ ...proofOf(passport, Buffer.alloc(8)), challenge: CHALLENGE }),
        'document aa_signature',
        `${digest}: another session’s`,
      )
    }
  }
  for (const rsaBits of [1024, 1792, 4096])
    assert.equal(
      short(
        proofOf(createPassport(authority, { chip: createPassportChip({ kind: 'rsa', rsaBits }) })),
      ),
      'chip',
    )
})

/** Passports that are odd in one way. */
const ODD: readonly (readonly [string, PassportOptions, string])[] = [
  ['open-ended lengths', { indefinite: true }, 'document aa_not_sent'],
  ['a signing time', { signingTime: NOW - 1_000 }, 'document aa_not_sent'],
  [
    'a signing time before the signer’s certificate',
    { signingTime: NOW - 3 * DAY_MS },
    'none dsc_validity',
  ],
  ['a signing time that has not come', { signingTime: NOW + DAY_MS }, 'none dsc_validity'],
  [
    'plain data as content type, as China has it',
    { contentType: '1.2.840.113549.1.7.1' },
    'document aa_not_sent',
  ],
  ['the type of a master list', { contentType: '2.23.136.1.1.2' }, 'none lds_security_object'],
  ['DG1 not listed', { unlisted: [1] }, 'none dg1_missing'],
  ['DG15 not listed', { chip: rsaChip, unlisted: [15] }, 'document dg15_not_listed'],
  ['DG14 not listed, RSA', { chip: rsaChip, unlisted: [14] }, 'chip'],
  ['DG14 not listed, ECDSA', { chip: ecdsaChip, unlisted: [14] }, 'document dg14_not_listed'],
  ['hashes of SHA-512', { chip: rsaChip, digest: 'sha512' }, 'chip'],
  ['TD1', { mrz: { format: 'TD1' } }, 'document aa_not_sent'],
  ['TD2', { mrz: { format: 'TD2' } }, 'document aa_not_sent'],
  [
    'TD1 with a long number',
    { mrz: { format: 'TD1', documentNumber: 'AB1234567890C' } },
    'document aa_not_sent',
  ],
  [
    'TD2 with a long number',
    { mrz: { format: 'TD2', documentNumber: 'AB12345678' } },
    'document aa_not_sent',
  ],
  ['TD3 with a personal number', { mrz: { personalNumber: 'ZE184226B' } }, 'document aa_not_sent'],
  ['another state', { mrz: { issuingState: 'D' } }, 'none country'],
  ['a state that is no state', { mrz: { issuingState: 'UT' } }, 'none country'],
  ['its last day', { mrz: { expiry: '261121' } }, 'document aa_not_sent'],
  ['expired', { mrz: { expiry: '261119' } }, 'none expired'],
  ['an expiry that is no date', { mrz: { expiry: '300231' } }, 'none mrz'],
  ['no document number', { mrz: { documentNumber: '' } }, 'none mrz'],
]

for (const [what, options, expected] of ODD) {
  test(`a passport with ${what}: ${expected}`, () => {
    assert.equal(short(proofOf(createPassport(authority, options))), expected)
  })
}

test('rejects a swapped data group, a changed one and one of another passport', () => {
  const [mine, other] = [
    createPassport(authority, { chip: ecdsaChip }),
    createPassport(authority, {
      chip: createPassportChip({ kind: 'ecdsa' }),
      mrz: { documentNumber: 'X00000001' },
    }),
  ]
  const proof = proofOf(mine)
  assert.equal(short({ ...proof, dg1: other.dg1 }), 'none dg_hash')
  assert.equal(short({ ...proof, dg15: other.dg15 }), 'none dg_hash')
  assert.equal(short({ ...proof, dg1: mine.dg15 ?? proof.dg1 }), 'none dg_hash')
  assert.equal(short({ ...proof, dg14: mine.dg15, dg15: mine.dg14 }), 'none dg_hash')
  assert.equal(short({ ...proof, sod: other.sod }), 'none dg_hash')
  assert.equal(
    short({ ...proof, activeAuthentication: other.chip?.response(CHALLENGE) }),
    'document aa_signature',
  )
  assert.equal(short({ ...proof, dg15: undefined }), 'document dg15_not_listed')
})

test('rejects a wrong check digit, although the state has signed it', () => {
  const right = createPassport(authority)
  const zone = right.dg1.subarray(5).toString('latin1')
  // Number, birth, expiry, personal number and all of them: the digits of TD3.
  for (const at of [53, 63, 71, 86, 87]) {
    const digit = (Number(zone[at]) + 1) % 10
    const wrong = `${zone.slice(0, at)}${digit}${zone.slice(at + 1)}`
    const dg1 = Buffer.concat([right.dg1.subarray(0, 5), Buffer.from(wrong)])
    assert.equal(
      short({ sod: resigned(dg1), dg1, challenge: CHALLENGE }),
      'none mrz',
      `digit at ${at}`,
    )
  }
})

/** A security object for a DG1 that the simulator would not write: signed anew over its hash. */
function resigned(dg1: Buffer): Buffer {
  return createPassport(authority, { dg1 }).sod
}

test('rejects a signer of another state, of no state, for other purposes, or out of date', () => {
  const foreign = createPassportAuthority(NOW, { country: 'AT' })
  assert.equal(short(proofOf(createPassport(foreign))), 'none csca_unknown')
  assert.equal(short(proofOf(createPassport(foreign)), trustIn(foreign)), 'none country')
  const namesake = createPassportAuthority(NOW)
  assert.equal(short(proofOf(createPassport(namesake))), 'none dsc_signature')
  assert.equal(
    short(proofOf(createPassport(namesake)), trustIn(authority, namesake)),
    'document aa_not_sent',
  )

  const late = createPassportAuthority(NOW, {
    signerValidity: { notBefore: NOW + DAY_MS, notAfter: NOW + 2 * DAY_MS },
  })
  assert.equal(short(proofOf(createPassport(late)), trustIn(late)), 'none dsc_validity')
  const old = createPassportAuthority(NOW, {
    signerValidity: { notBefore: NOW - 9 * DAY_MS, notAfter: NOW - 8 * DAY_MS },
  })
  assert.equal(short(proofOf(createPassport(old)), trustIn(old)), 'none dsc_validity')
  assert.equal(
    short(proofOf(createPassport(old, { signingTime: NOW - 8.5 * DAY_MS })), trustIn(old)),
    'document aa_not_sent',
  )

  const signer = createPassportSigner({ scheme: 'ecdsa', digest: 'sha256' })
  const validity = {
    publicKey: signer.publicKey,
    name: 'Other',
    notBefore: NOW - DAY_MS,
    notAfter: NOW + DAY_MS,
  }
  for (const odd of [{ purposes: ['2.23.136.1.1.3'] }, { authority: true }]) {
    const state = {
      ...authority,
      signer,
      signerCertificate: authority.issue({ ...validity, ...odd }),
    }
    assert.equal(short(proofOf(createPassport(state))), 'none dsc_usage', JSON.stringify(odd))
  }
  // A signer that is a trust anchor itself does not make other certificates trusted.
  const below = { ...authority, countryCertificate: authority.signerCertificate }
  assert.equal(short(proofOf(createPassport(authority)), trustIn(below)), 'none csca_unknown')
})

test('returns none for a flipped bit in each byte of the chip’s files, except in the signer’s name', () => {
  const passport = createPassport(authority, { chip: ecdsaChip, signingTime: NOW - 1_000 })
  const proof = { ...proofOf(passport), activeAuthentication: undefined }
  const survived: number[] = []
  for (const file of ['dg1', 'dg14', 'dg15', 'sod'] as const) {
    const bytes = Buffer.from(proof[file] ?? [])
    for (const bit of bitsOf(bytes)) {
      if (!judge({ ...proof, [file]: flipBit(bytes, bit) }).ok) continue
      assert.equal(file, 'sod', `${file} bit ${bit}`)
      survived.push(bit >> 3)
    }
  }
  // Nothing depends on how the signer info names its certificate: the made-up state's names
  // another, and the signature decides.
  const { issuer } = new X509Certificate(authority.signerCertificate)
  assert.ok(issuer.includes(COUNTRY_NAME))
  const namedAt = passport.sod.lastIndexOf(COUNTRY_NAME)
  const [first, last] = [Math.min(...survived), Math.max(...survived)]
  assert.ok(
    first > namedAt - 60 && last < namedAt + 60,
    `${first} to ${last}, the name at ${namedAt}`,
  )
})

test('returns document for a flipped bit in each byte of the chip’s response', () => {
  for (const chip of [rsaChip, ecdsaChip, derChip]) {
    const proof = proofOf(createPassport(authority, { chip }))
    const response = Buffer.from(proof.activeAuthentication ?? [])
    for (const bit of bitsOf(response)) {
      assert.equal(
        short({ ...proof, activeAuthentication: flipBit(response, bit) }),
        'document aa_signature',
        `bit ${bit}`,
      )
    }
    for (const wrong of [
      Buffer.alloc(0),
      response.subarray(1),
      Buffer.concat([response, Buffer.of(0)]),
      randomBytes(response.length),
      Buffer.alloc(response.length),
    ]) {
      assert.equal(short({ ...proof, activeAuthentication: wrong }), 'document aa_signature')
    }
  }
})

test('accepts only a complete master list of a trusted root, signed by a signer of lists', () => {
  const [listed, unrelated] = [
    createPassportAuthority(NOW, { country: 'AT' }),
    createPassportAuthority(NOW, { country: 'CH' }),
  ]
  const options = {
    certificates: [listed.countryCertificate, authority.countryCertificate],
    now: NOW,
  }
  const list = createMasterList(authority, options)
  const read = (bytes: Buffer, state = authority, now = NOW) => {
    const result = readMasterList(bytes, { roots: [certificate(state.countryCertificate)], now })
    return result.ok ? result.value.certificates.length : result.step
  }
  assert.equal(read(list), 2)
  assert.equal(read(list, unrelated), 'signer_unknown')
  assert.equal(
    read(createMasterList(authority, { ...options, purposes: ['2.23.136.1.1.8'] })),
    'signer_usage',
  )
  assert.equal(read(createMasterList(authority, { ...options, certificates: [] })), 'content')
  assert.equal(read(createPassport(authority).sod.subarray(4)), 'content_type')
  assert.equal(read(list.subarray(0, -1)), 'signed_data')
  const inside = list.indexOf(listed.countryCertificate)
  for (const bit of bitsOf(listed.countryCertificate).map((each) => inside * 8 + each))
    assert.equal(typeof read(flipBit(list, bit)), 'string', `bit ${bit}`)
})

/** The tier, and the check that kept it from being higher. */
function tierOf(verdict: ReturnType<typeof verifyPassport>): string {
  if (!verdict.ok) return `none ${verdict.step}`
  return verdict.value.tier === 'chip' ? 'chip' : `document ${verdict.value.chipStep}`
}
