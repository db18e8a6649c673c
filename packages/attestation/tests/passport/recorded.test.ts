import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { vectorsMissing } from '../../../contract/tests/vectors.ts'
import { verifyActiveAuthentication } from '../../src/passport/active-authentication.ts'
import { readMasterList } from '../../src/passport/read-master-list.ts'
import {
  verifyDataGroups,
  verifySecurityObject,
} from '../../src/passport/passive-authentication.ts'
import {
  readSignedDocument,
  signerCandidates,
  coversContent,
  verifySignedWith,
} from '../../src/passport/signed-document.ts'
import { readSecurityObject } from '../../src/passport/security-object.ts'
import { countryOf } from '../../src/passport/state-certificate.ts'
import { contentOf, FILE_TAG } from '../../src/passport/elementary-file.ts'
import { CountryTrust } from '../../src/passport/country-trust.ts'
import { dutchMasterList, erika, recordedChip, states, synthetic } from './recordings.ts'

const skip = vectorsMissing
const NOBODY = new CountryTrust([])

/** Recordings of real states and the time at which each is judged. A new recording is one line. */
const REAL: Readonly<Record<string, { readonly at: string; readonly says: string }>> = {
  AT: { at: '2023-06-01', says: 'AT' },
  CN: { at: '2018-06-01', says: 'CN' },
  DE: { at: '2023-06-01', says: 'DE' },
  FR: { at: '2018-06-01', says: 'FR' },
  GB: { at: '2021-06-01', says: 'GB' },
  PH: { at: '2020-06-01', says: 'PH' },
  SG: { at: '2022-08-01', says: 'SG' },
}

test('verifies each state’s recorded security object under its certificate, with the recorded data groups', {
  skip,
}, () => {
  assert.deepEqual(states.map(({ country }) => country).sort(), Object.keys(REAL))
  for (const { country, sod, csca, dg1Hash } of states) {
    const { at, says } = REAL[country] ?? { at: '', says: '' }
    const result = verifySecurityObject(sod, {
      trust: new CountryTrust([csca]),
      now: Date.parse(at),
    })
    assert.ok(result.ok, `${country}: ${result.ok ? '' : result.step}`)
    assert.equal(result.value.country, says)
    assert.equal(result.value.hashes.get(1)?.toString('hex'), dg1Hash, country)
  }
})

test('rejects a recorded security object under another country’s certificate, or under none', {
  skip,
}, () => {
  for (const [index, { country, sod }] of states.entries()) {
    const now = Date.parse(REAL[country]?.at ?? '')
    const others = states.filter((_, other) => other !== index).map(({ csca }) => csca)
    assert.deepEqual(
      verifySecurityObject(sod, { trust: new CountryTrust(others), now }),
      { ok: false, reason: 'passport_invalid', step: 'csca_unknown' },
      country,
    )
    assert.deepEqual(
      verifySecurityObject(sod, { trust: NOBODY, now }),
      { ok: false, reason: 'passport_invalid', step: 'csca_unknown' },
      country,
    )
  }
})

test('rejects a security object before the validity of its signer', { skip }, () => {
  for (const { country, sod, csca } of states) {
    const result = verifySecurityObject(sod, {
      trust: new CountryTrust([csca]),
      now: Date.parse('2015-01-01'),
    })
    assert.deepEqual(
      result,
      { ok: false, reason: 'passport_invalid', step: 'dsc_validity' },
      country,
    )
  }
})

test('finds the certificate of each recorded state in the recorded master list', {
  skip,
}, () => {
  const { list, root } = dutchMasterList()
  const read = readMasterList(list, { roots: [root], now: Date.parse('2026-07-24') })
  assert.ok(read.ok)
  assert.equal(read.value.certificates.length, 411)
  assert.equal(read.value.unreadable, 0)
  const trust = new CountryTrust(read.value.certificates)
  for (const { country, sod } of states) {
    const result = verifySecurityObject(sod, {
      trust,
      now: Date.parse(REAL[country]?.at ?? ''),
    })
    assert.ok(result.ok, `${country}: ${result.ok ? '' : result.step}`)
  }
})

/** What each check says of objects that have no country's certificate beside them. */
test('verifies a fictional state’s objects by their own certificate, also with raw r and s, and trusts no issuer', {
  skip,
}, () => {
  assert.deepEqual(synthetic.map(({ name }) => name).sort(), ['john', 'mary'])
  for (const { name, sod, dg1 } of synthetic) {
    const signed = readSignedDocument(sod)
    assert.ok(signed, name)
    assert.ok(coversContent(signed), name)
    assert.ok(
      signerCandidates(signed).some(
        (candidate) => verifySignedWith(signed, candidate) === 'signed',
      ),
      name,
    )
    const object = readSecurityObject(signed.content)
    assert.deepEqual(
      object?.hashes.get(1),
      createHash(object?.digest ?? '')
        .update(dg1)
        .digest(),
      name,
    )
    assert.deepEqual(
      verifySecurityObject(sod, { trust: NOBODY, now: Date.parse('2026-01-01') }),
      { ok: false, reason: 'passport_invalid', step: 'csca_unknown' },
      name,
    )
  }
})

test('verifies the specimen of Erika Mustermann, and ignores its unlisted DG15', {
  skip,
}, () => {
  assert.deepEqual(
    verifySecurityObject(erika('SOD'), { trust: NOBODY, now: Date.parse('2008-06-01') }),
    { ok: false, reason: 'passport_invalid', step: 'csca_unknown' },
  )
  const signed = readSignedDocument(contentOf(erika('SOD'), FILE_TAG.sod) ?? Buffer.alloc(0))
  assert.ok(signed)
  const [signer] = signerCandidates(signed)
  assert.ok(signer && coversContent(signed))
  assert.equal(verifySignedWith(signed, signer), 'signed')
  const object = readSecurityObject(signed.content)
  assert.ok(object)
  assert.deepEqual([...object.hashes.keys()], [1, 2, 3, 14])

  const groups = { dg1: erika('DG1'), dg14: erika('DG14'), dg15: erika('DG15') }
  const german = { ...object, country: countryOf(signer) }
  const inForce = verifyDataGroups(groups, {
    object: german,
    now: Date.parse('2013-10-31T23:00:00Z'),
  })
  assert.ok(inForce.ok)
  assert.deepEqual(
    [inForce.value.mrz.issuingState, inForce.value.mrz.documentNumber],
    ['D', 'C11T002JM'],
  )
  assert.deepEqual(Object.keys(inForce.value.listed), ['dg14'])
  assert.deepEqual(verifyDataGroups(groups, { object: german, now: Date.parse('2013-11-02') }), {
    ok: false,
    reason: 'passport_invalid',
    step: 'expired',
  })
  assert.deepEqual(
    verifyDataGroups(groups, {
      object: { ...object, country: 'AT' },
      now: Date.parse('2010-01-01'),
    }),
    {
      ok: false,
      reason: 'passport_invalid',
      step: 'country',
    },
  )
  assert.deepEqual(
    verifyDataGroups({ dg1: erika('DG11') }, { object: german, now: Date.parse('2010-01-01') }),
    { ok: false, reason: 'passport_invalid', step: 'dg_hash' },
  )

  const chip = verifyActiveAuthentication({
    ...inForce.value.listed,
    challenge: Buffer.alloc(8),
    signature: Buffer.alloc(128),
  })
  assert.deepEqual(chip, { ok: false, reason: 'chip_not_authenticated', step: 'dg15_not_listed' })
})

test('accepts the recorded chip’s response to its challenge only', { skip }, () => {
  const { dg15, challenge, signature } = recordedChip()
  assert.ok(verifyActiveAuthentication({ dg15, challenge, signature }).ok)
  for (let bit = 0; bit < challenge.length * 8; bit++) {
    const other = Buffer.from(challenge)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.deepEqual(verifyActiveAuthentication({ dg15, challenge: other, signature }), {
      ok: false,
      reason: 'chip_not_authenticated',
      step: 'aa_signature',
    })
  }
  const changed = Buffer.from(signature)
  for (let bit = 0; bit < signature.length * 8; bit++) {
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.deepEqual(
      verifyActiveAuthentication({ dg15, challenge, signature: changed }),
      { ok: false, reason: 'chip_not_authenticated', step: 'aa_signature' },
      `bit ${bit}`,
    )
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  }
})
