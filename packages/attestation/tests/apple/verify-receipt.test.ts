import assert from 'node:assert/strict'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import { verifyAppReceipt } from '../../src/apple/verify-receipt.ts'
import {
  NOW,
  MINUTE_MS,
  DAY_MS,
  phone,
  keyCertificate,
  ROOT,
  ISSUER,
  SIGNER,
  ANCHORS,
  FACTS,
  iso,
  contentOf,
  type Tampered,
  receiptOf,
  judge,
  stepOf,
} from './receipts.ts'

const { sequence } = der

test('verifies a receipt of this key that the receipt signer signed, and returns its fields', () => {
  const receipt = receiptOf({})
  assert.deepEqual(verifyAppReceipt({ ...FACTS, receipt }, ANCHORS), {
    ok: true,
    value: {
      receipt,
      createdAt: NOW - MINUTE_MS,
      expiresAt: NOW + DAY_MS,
      fresh: true,
      riskMetric: undefined,
    },
  })
  const refreshed = judge({ content: contentOf({ 17: '3' }) })
  assert.equal(refreshed.ok && refreshed.value.riskMetric, '3')
})

/** Variations that are accepted. */
const ACCEPTED: readonly (readonly [string, Tampered])[] = [
  [
    'a development build when one is expected',
    { facts: { environment: 'development' }, content: contentOf({ 7: 'sandbox' }) },
  ],
  ['four certificates', { data: { certificates: [SIGNER, ISSUER, ROOT, ROOT] } }],
  ['certificates in another order', { data: { certificates: [ROOT, ISSUER, SIGNER] } }],
  ['a certificate that cannot be read', { data: { certificates: [sequence(), SIGNER, ISSUER] } }],
  [
    'another certificate of the issuer before the signer certificate',
    { data: { certificates: [keyCertificate(phone.publicKey), SIGNER, ISSUER] } },
  ],
  ['a creation time within the tolerance', { content: contentOf({ 12: iso(NOW + MINUTE_MS) }) }],
  ['the last millisecond before expiry', { content: contentOf({ 21: iso(NOW + 1) }) }],
]

for (const [what, tampered] of ACCEPTED)
  test(`accepts a receipt with ${what}`, () => assert.equal(stepOf(tampered), 'verified'))

test('returns a receipt as fresh for five minutes', () => {
  for (const [age, fresh] of [
    [5 * MINUTE_MS, true],
    [5 * MINUTE_MS + 1, false],
  ] as const) {
    const finding = judge({ content: contentOf({ 12: iso(NOW - age) }) })
    assert.equal(finding.ok && finding.value.fresh, fresh)
  }
})
