import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPassport, createPassportAuthority } from '@bonded/simulator'
import { CountryTrust } from '../../src/passport/country-trust.ts'
import { verifyPassport } from '../../src/passport/verify-passport.ts'
import { flipBit } from '../harness/flip-bit.ts'
import { tierOf } from './forged-passport.ts'
import { certificate } from './recordings.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const CHALLENGE = Buffer.from('a1b2c3d4e5f60718', 'hex')

test('accepts a passport whose RSASSA-PSS signature has another digest for its mask', () => {
  // RFC 4055 allows any pair of digests.
  for (const [digest, maskDigest] of [
    ['sha256', 'sha1'],
    ['sha384', 'sha256'],
  ] as const) {
    const state = createPassportAuthority(NOW, {
      documentSignature: { scheme: 'pss', digest, maskDigest },
    })
    const { sod, dg1 } = createPassport(state)
    const trust = new CountryTrust([certificate(state.countryCertificate)])
    const judge = (bytes: Buffer) =>
      tierOf(verifyPassport({ sod: bytes, dg1, challenge: CHALLENGE, now: NOW }, trust))
    assert.equal(judge(sod), 'document aa_not_sent')
    assert.equal(judge(flipBit(sod, sod.length * 8 - 9)), 'none sod_signature')
  }
})
