import assert from 'node:assert/strict'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import { keyIdOf, nameIn, newKeys, USAGE } from './test-state.ts'
import {
  NOW,
  SECOND_MS,
  DAY_MS,
  state,
  stateWith,
  unrelated,
  COUNTRY,
  resultOf,
  signedWith,
  signedAt,
  testCases,
} from './forged-passport.ts'

const { element, nothing, sequence } = der

testCases([
  // The issuer and the usage of the signer.
  ['a signer of an untrusted state', { trusted: [] }, 'none csca_unknown'],
  [
    'a signer whose issuer has another name',
    signedWith({ issuer: nameIn('UT', 'Another state') }),
    'none csca_unknown',
  ],
  [
    'a signer that an unrelated key certified in the name of the state',
    signedWith({ issuerKey: unrelated.privateKey }),
    'none dsc_signature',
  ],
  [
    'a trusted certificate that may not issue others',
    { trusted: [stateWith({ usage: USAGE.signs })] },
    'none csca_unknown',
  ],
  [
    'a trusted certificate that is not an authority',
    { trusted: [stateWith({ usage: undefined, isAuthority: false })] },
    'none csca_unknown',
  ],
  [
    'a trusted authority without key usage',
    { trusted: [stateWith({ usage: undefined })] },
    'document aa_not_sent',
  ],
  [
    'a trusted certificate with CA:FALSE, as in Turkey',
    { trusted: [stateWith({ isAuthority: false })] },
    'document aa_not_sent',
  ],
  [
    'a signer with a key usage of encipherment',
    signedWith({ usage: USAGE.enciphers }),
    'none dsc_usage',
  ],
  ['a signer that may also sign certificates', signedWith({ usage: USAGE.both }), 'none dsc_usage'],
  [
    'a signer that is an authority without key usage',
    signedWith({ usage: undefined, isAuthority: true }),
    'none dsc_usage',
  ],
  ['a signer without key usage', signedWith({ usage: undefined }), 'document aa_not_sent'],
  [
    'a signer with an extended key usage',
    signedWith({ purposes: ['2.23.136.1.1.3'] }),
    'none dsc_usage',
  ],
  [
    'a signer with an unknown critical extension',
    signedWith({ more: [{ id: '1.2.3.4', critical: true, value: nothing() }] }),
    'none dsc_usage',
  ],
  [
    'a signer with an unknown non-critical extension',
    signedWith({ more: [{ id: '1.2.3.4', value: nothing() }] }),
    'document aa_not_sent',
  ],

  // Validity.
  ['an expired signer', signedWith({ notAfter: NOW - SECOND_MS }), 'none dsc_validity'],
  [
    'a signer that is not yet valid',
    signedWith({ notBefore: NOW + SECOND_MS }),
    'none dsc_validity',
  ],
  [
    'an expired signer that signed while it was valid',
    { ...signedWith({ notAfter: NOW - SECOND_MS }), ...signedAt(NOW - DAY_MS) },
    'document aa_not_sent',
  ],
  ['a signing time before the signer was valid', signedAt(NOW - 11 * DAY_MS), 'none dsc_validity'],
  ['a signing time in the future', signedAt(NOW + SECOND_MS), 'none dsc_validity'],
  [
    'a signer that was issued before the country certificate was valid',
    signedWith({ notBefore: NOW - 101 * DAY_MS }),
    'none dsc_validity',
  ],
  [
    'a signer that was issued after the country certificate expired',
    { trusted: [stateWith({ notAfter: NOW - 11 * DAY_MS })] },
    'none dsc_validity',
  ],
  [
    'a country certificate that expired after it issued the signer',
    { trusted: [stateWith({ notAfter: NOW - 9 * DAY_MS })] },
    'document aa_not_sent',
  ],
])

test('finds the issuer by its key id among 33 country certificates of one name', () => {
  const more = [{ id: '2.5.29.35', value: sequence(element(0x80, keyIdOf(state.publicKey))) }]
  const sameName = Array.from({ length: 32 }, () => stateWith({ publicKey: newKeys().publicKey }))
  assert.equal(
    resultOf({ ...signedWith({ more }), trusted: [...sameName, COUNTRY] }),
    'document aa_not_sent',
  )
  assert.equal(
    resultOf({ ...signedWith({}), trusted: [...sameName, COUNTRY] }),
    'none dsc_signature',
  )
})
