import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import { createAppAssertion, attestKey, createAppAttestAuthority } from '@bonded/simulator'
import { appleTrust } from '../../src/apple/trust.ts'
import { readAttestationObject } from '../../src/apple/attestation-object.ts'
import { verifyAppAssertion } from '../../src/apple/verify-assertion.ts'
import { verifyAppAttestation } from '../../src/apple/verify-attestation.ts'
import { verifyAppReceipt } from '../../src/apple/verify-receipt.ts'
import { anyBuildOf, attestations } from './recordings.ts'
import { fuzz } from '../harness/fuzz.ts'

const APP_ID = 'TEAM123456.example.bank'
const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const authority = createAppAttestAuthority(NOW)
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clientDataHash = hash('sha256', 'challenge', 'buffer')
const extensions = { category: 4, bundleVersion: '7.1' }
const created = attestKey(
  { appId: APP_ID, environment: 'production', extensions },
  { authority, privateKey, clientDataHash, now: NOW },
)
const keyId = Buffer.from(created.keyId, 'base64')
const app = anyBuildOf(APP_ID)
const trust = appleTrust([app], [authority.root])

test('returns a verdict for any altered attestation and never throws', async (t) => {
  const recorded = attestations.map(({ attestationObject }) => attestationObject)
  const summary = await fuzz(
    [created.attestationObject, ...recorded],
    async (attestationObject) => {
      const result = verifyAppAttestation(
        { attestationObject, keyId, clientDataHash, now: NOW },
        trust,
      )
      if (result.ok) assert.ok(sameButReceipt(attestationObject), 'a changed object was taken')
      else assert.equal(result.reason, 'attestation_invalid')
    },
  )
  t.diagnostic(summary)
})

test('returns a verdict for any altered assertion and never throws', async (t) => {
  const { authenticatorData, signature } = createAppAssertion(
    { appId: APP_ID, extensions },
    { privateKey, counter: 7, clientDataHash },
  )
  const summary = await fuzz([authenticatorData, signature], (input) => {
    for (const change of [
      { authenticatorData: input, signature },
      { authenticatorData, signature: input },
    ]) {
      const result = verifyAppAssertion({ ...change, clientDataHash, publicKey }, app)
      if (result.ok)
        assert.ok(change.authenticatorData.equals(authenticatorData), 'changed data was taken')
      else assert.equal(result.reason, 'assertion_invalid')
    }
  })
  t.diagnostic(summary)
})

test('returns a finding for any altered receipt and never throws', async (t) => {
  const receipts = attestations.map(
    ({ attestationObject }) => readAttestationObject(attestationObject)?.receipt ?? Buffer.alloc(0),
  )
  const facts = {
    appId: APP_ID,
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    environment: 'production',
    clientDataHash,
    now: NOW,
  } as const
  const summary = await fuzz(
    [
      Buffer.from('3080', 'hex'),
      Buffer.alloc(16_000, 0x30),
      Buffer.alloc(16_000, Buffer.from('2480', 'hex')),
      ...receipts,
    ],
    async (receipt) => {
      assert.equal(verifyAppReceipt({ ...facts, receipt }, trust.receiptAnchors).ok, false)
    },
  )
  t.diagnostic(summary)
})

/** The receipt is covered by nothing: a registration with a changed one is as good. */
function sameButReceipt(bytes: Buffer): boolean {
  const [was, is] = [readAttestationObject(created.attestationObject), readAttestationObject(bytes)]
  return (
    was !== undefined &&
    is !== undefined &&
    was.authenticatorData.equals(is.authenticatorData) &&
    Buffer.concat(was.chain).equals(Buffer.concat(is.chain))
  )
}
