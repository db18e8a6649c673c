import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createPassportAuthority,
  createPassportChip,
  createMasterList,
  createPassport,
} from '@bonded/simulator'
import { vectorsMissing } from '../../../contract/tests/vectors.ts'
import { verifyActiveAuthentication } from '../../src/passport/active-authentication.ts'
import { verifyPassport } from '../../src/passport/verify-passport.ts'
import { readMasterList } from '../../src/passport/read-master-list.ts'
import { CountryTrust } from '../../src/passport/country-trust.ts'
import { fuzz } from '../harness/fuzz.ts'
import { certificate, erika, states, synthetic } from './recordings.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const CHALLENGE = Buffer.alloc(8, 7)
const authority = createPassportAuthority(NOW)
const root = certificate(authority.countryCertificate)
const trust = new CountryTrust([root, ...states.map(({ csca }) => csca)])
const [rsa, ecdsa] = (['rsa', 'ecdsa'] as const).map((kind) =>
  createPassport(authority, { chip: createPassportChip({ kind }) }),
)
assert.ok(rsa && ecdsa)

const openEnded = [
  Buffer.from('77803080', 'hex'),
  Buffer.alloc(16_000, Buffer.from('3080', 'hex')),
  Buffer.alloc(16_000, Buffer.from('2480', 'hex')),
]

test('returns a tier for any altered passport, and none for an altered data group', async (t) => {
  const recorded = vectorsMissing
    ? []
    : [
        erika('SOD'),
        erika('DG14'),
        ...states.map(({ sod }) => sod),
        ...synthetic.map(({ sod }) => sod),
      ]
  const summary = await fuzz(
    [ecdsa.sod, ecdsa.dg1, ecdsa.dg14, ecdsa.dg15, ...openEnded, ...recorded].filter(
      (file) => file !== undefined,
    ),
    (input) => {
      const proof = { ...ecdsa, challenge: CHALLENGE, now: NOW }
      verifyPassport({ ...proof, sod: input }, trust)
      for (const group of ['dg1', 'dg14', 'dg15'] as const) {
        const { ok } = verifyPassport({ ...proof, [group]: input }, trust)
        if (!input.equals(proof[group] ?? Buffer.alloc(0)))
          assert.equal(ok, false, `a changed ${group} was taken`)
      }
    },
  )
  t.diagnostic(summary)
})

test('rejects any altered key, algorithm, or response in Active Authentication and never throws', async (t) => {
  const samples = [rsa, ecdsa]
    .flatMap(({ dg14, dg15, chip }) => [dg14, dg15, chip?.response(CHALLENGE)])
    .filter((file) => file !== undefined)
  const summary = await fuzz([...samples, ...openEnded], (input) => {
    for (const { dg14, dg15, chip } of [rsa, ecdsa]) {
      const honest = {
        ...(dg14 && { dg14 }),
        ...(dg15 && { dg15 }),
        challenge: CHALLENGE,
        signature: chip?.response(Buffer.alloc(8)),
      }
      for (const change of [{ dg14: input }, { dg15: input }, { signature: input }]) {
        const result = verifyActiveAuthentication({ ...honest, ...change })
        const wasRight = 'signature' in change && samples.some((sample) => sample.equals(input))
        assert.ok(!result.ok || wasRight, 'an answer to another challenge was taken')
      }
    }
  })
  t.diagnostic(summary)
})

test('returns the signed list or a rejection for any altered master list', async (t) => {
  const list = createMasterList(authority, {
    certificates: [authority.countryCertificate],
    now: NOW,
  })
  const summary = await fuzz([list, ...openEnded], (input) => {
    const result = readMasterList(input, { roots: [root], now: NOW })
    if (result.ok)
      assert.deepEqual(
        result.value.certificates.map(({ encoded }) => encoded),
        [authority.countryCertificate],
      )
  })
  t.diagnostic(summary)
})
