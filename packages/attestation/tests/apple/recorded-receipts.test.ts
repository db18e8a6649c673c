import assert from 'node:assert/strict'
import { test } from 'node:test'
import { vectorsMissing } from '../../../contract/tests/vectors.ts'
import { readAttestationObject } from '../../src/apple/attestation-object.ts'
import { type AppReceiptInput, verifyAppReceipt } from '../../src/apple/verify-receipt.ts'
import { attestations, type RecordedAttestation, spkiOf, trustFor } from './recordings.ts'
import { bitsOf, flipBit } from '../harness/flip-bit.ts'
import { inBatches } from '../harness/in-batches.ts'

const skip = vectorsMissing
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const receiptOf = ({ attestationObject }: RecordedAttestation) =>
  readAttestationObject(attestationObject)?.receipt ?? Buffer.alloc(0)
const factsOf = (recorded: RecordedAttestation): AppReceiptInput => ({
  ...recorded,
  receipt: receiptOf(recorded),
  publicKey: spkiOf(recorded.publicKeyPem),
})
const judge = async (
  recorded: RecordedAttestation,
  change: Partial<AppReceiptInput> = {},
  receipt = receiptOf(recorded),
) =>
  verifyAppReceipt({ ...factsOf(recorded), ...change, receipt }, trustFor(recorded).receiptAnchors)
const stepOf = async (...given: Parameters<typeof judge>) => {
  const finding = await judge(...given)
  return finding.ok ? 'verified' : finding.step
}

test('rejects a receipt of another app, environment, key, challenge, or time', {
  skip,
}, async () => {
  for (const recorded of attestations) {
    const other = attestations.find(({ publicKeyPem }) => publicKeyPem !== recorded.publicKeyPem)
    assert.ok(other)
    assert.equal(await stepOf(recorded), 'verified')
    assert.equal(await stepOf(recorded, { appId: 'TEAM123456.example.bank' }), 'app_id')
    assert.equal(
      await stepOf(recorded, {
        environment: recorded.environment === 'production' ? 'development' : 'production',
      }),
      'environment',
    )
    assert.equal(await stepOf(recorded, { publicKey: spkiOf(other.publicKeyPem) }), 'public_key')
    assert.equal(await stepOf(recorded, { clientDataHash: Buffer.alloc(32) }), 'client_data_hash')
    assert.equal(await stepOf(recorded, { now: recorded.now - 3 * DAY_MS }), 'time')
    // The signer's certificate or the receipt itself, whichever ends first.
    assert.match(
      await stepOf(recorded, { now: recorded.now + 120 * DAY_MS }),
      /^(time|certificate_chain)$/,
    )
    const keyRoots = trustFor(recorded).anchors
    assert.deepEqual(verifyAppReceipt(factsOf(recorded), keyRoots), {
      ok: false,
      reason: 'receipt_invalid',
      step: 'certificate_chain',
    })
  }
})

test('returns a receipt as fresh for five minutes', { skip }, async () => {
  for (const recorded of attestations) {
    const finding = await judge(recorded)
    assert.ok(finding.ok)
    const { createdAt } = finding.value
    for (const [now, fresh] of [
      [createdAt - MINUTE_MS, true],
      [createdAt + 5 * MINUTE_MS, true],
      [createdAt + 5 * MINUTE_MS + 1, false],
    ] as const) {
      const at = await judge(recorded, { now })
      assert.equal(at.ok && at.value.fresh, fresh)
    }
    assert.equal(await stepOf(recorded, { now: createdAt - MINUTE_MS - 1 }), 'time')
  }
})

test('rejects a receipt with a flipped bit, or returns the same fields', {
  skip,
}, async () => {
  const [recorded] = attestations
  assert.ok(recorded)
  const receipt = receiptOf(recorded)
  const original = await judge(recorded)
  assert.ok(original.ok)
  const content = receipt.subarray(
    receipt.indexOf(Buffer.from(recorded.appId)) - 16,
    receipt.indexOf(Buffer.from(recorded.appId)) + 1_000,
  )
  const from = receipt.indexOf(content) * 8
  const bits = bitsOf(receipt)
  const findings = await inBatches(bits, (bit) => judge(recorded, {}, flipBit(receipt, bit)))
  for (const [index, bit] of bits.entries()) {
    const finding = findings[index]
    if (finding?.ok !== true) continue
    assert.ok(bit < from || bit >= from + content.length * 8, `bit ${bit} is signed`)
    assert.deepEqual({ ...finding.value, receipt }, { ...original.value, receipt })
  }
})

test('rejects a receipt that is truncated anywhere', { skip }, async () => {
  const [recorded] = attestations
  assert.ok(recorded)
  const receipt = receiptOf(recorded)
  const lengths = [...receipt.keys()]
  const steps = await inBatches(lengths, (length) =>
    stepOf(recorded, {}, receipt.subarray(0, length)),
  )
  assert.deepEqual(new Set(steps), new Set(['structure']))
  assert.equal(await stepOf(recorded, {}, Buffer.concat([receipt, Buffer.of(0)])), 'structure')
})
