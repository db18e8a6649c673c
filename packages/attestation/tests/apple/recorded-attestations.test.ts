import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { attestationObject } from '@bonded/simulator'
import { readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import { readAttestationObject } from '../../src/apple/attestation-object.ts'
import { APP_ATTESTATION_ROOT, APPLE_ROOT_G3 } from '../../src/apple/roots.ts'
import { verifyAppAttestation } from '../../src/apple/verify-attestation.ts'
import { attestations, type RecordedAttestation, spkiOf, trustFor } from './recordings.ts'
import { bitsOf, flipBit } from '../harness/flip-bit.ts'
import { inBatches } from '../harness/in-batches.ts'

const skip = vectorsMissing
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/**
 * One line a recording: the environment of its device, and whether its receipt was new at that
 * time.
 */
const VERDICTS: readonly (readonly [string, 'sandbox' | 'production', 'fresh' | 'old'])[] = [
  ['veehaitch-ios-14.2', 'sandbox', 'fresh'],
  ['veehaitch-ios-14.3-beta-3', 'sandbox', 'fresh'],
  ['veehaitch-ios-14.3', 'sandbox', 'fresh'],
  ['veehaitch-ios-14.4-beta-2', 'sandbox', 'fresh'],
  ['node-app-attest-development', 'sandbox', 'old'],
  ['node-app-attest-production', 'production', 'old'],
]

const verdictOf = async (facts: RecordedAttestation, trust = trustFor(facts)) => {
  const result = verifyAppAttestation(facts, trust)
  return result.ok ? 'accepted' : result.step
}

for (const [name, environment, age] of VERDICTS) {
  test(`recorded: returns ${environment} for ${name}, and verifies its receipt`, {
    skip,
  }, async () => {
    const recorded = attestations.find((one) => one.name === name)
    assert.ok(recorded, 'the recording is gone')
    const result = verifyAppAttestation(recorded, trustFor(recorded))
    assert.ok(result.ok, JSON.stringify(result))
    const { receipt } = result.value
    assert.equal(result.value.environment, environment)
    assert.deepEqual(
      receipt.ok && { fresh: receipt.value.fresh, riskMetric: receipt.value.riskMetric },
      {
        fresh: age === 'fresh',
        riskMetric: undefined,
      },
    )
  })
}

test('accepts every recording at its own time, for its key, app, and extensions', {
  skip,
}, async () => {
  for (const recorded of attestations) {
    const result = verifyAppAttestation(recorded, trustFor(recorded))
    assert.ok(result.ok, `${recorded.name}: ${JSON.stringify(result)}`)
    assert.ok(result.value.publicKey.equals(spkiOf(recorded.publicKeyPem)), recorded.name)
    assert.equal(result.value.appId, recorded.appId)
    assert.equal(result.value.environment === 'production', recorded.environment === 'production')
    assert.equal(result.value.category !== undefined, recorded.extended, recorded.name)
  }
})

test('rejects another app, environment, key, or challenge, each at its own step', {
  skip,
}, async () => {
  for (const recorded of attestations) {
    const other = attestations.find(({ name }) => name !== recorded.name)
    assert.ok(other)
    const environment = recorded.environment === 'production' ? 'development' : 'production'
    assert.equal(
      await verdictOf(recorded, trustFor({ ...recorded, appId: `${recorded.appId}2` })),
      'app_id',
    )
    assert.equal(await verdictOf(recorded, trustFor({ ...recorded, environment })), 'environment')
    assert.equal(await verdictOf({ ...recorded, keyId: other.keyId }), 'key_id')
    assert.equal(
      await verdictOf({ ...recorded, clientDataHash: hash('sha256', 'another', 'buffer') }),
      'nonce',
    )
    assert.equal(
      await verdictOf(recorded, { ...trustFor(recorded), anchors: [] }),
      'certificate_chain',
    )
    // Apple's other root signs receipts, not keys.
    assert.equal(
      await verdictOf(recorded, {
        ...trustFor(recorded),
        anchors: trustFor(recorded).receiptAnchors,
      }),
      'certificate_chain',
    )
  }
})

test('rejects a certificate outside its validity, to the millisecond', {
  skip,
}, async () => {
  for (const recorded of attestations) {
    const leaf = readAttestationObject(recorded.attestationObject)?.chain[0]
    assert.ok(leaf)
    const { validFromDate, validToDate } = new X509Certificate(leaf)
    const [from, to] = [validFromDate.getTime(), validToDate.getTime()]
    assert.equal(await verdictOf({ ...recorded, now: from }), 'accepted')
    assert.equal(await verdictOf({ ...recorded, now: to }), 'accepted')
    assert.equal(await verdictOf({ ...recorded, now: from - 1 }), 'certificate_chain')
    assert.equal(await verdictOf({ ...recorded, now: to + 1 }), 'certificate_chain')
    assert.equal(await verdictOf({ ...recorded, now: to + 3_650 * DAY_MS }), 'certificate_chain')
  }
})

test('rejects an object that is truncated anywhere, extended, doubled, or recombined', {
  skip,
}, async () => {
  for (const recorded of attestations) {
    const whole = recorded.attestationObject
    const parts = readAttestationObject(whole)
    assert.ok(parts)
    const [leaf, issuer] = parts.chain
    assert.ok(attestationObject(parts).equals(whole), 'put together again it is the same')
    const changed = [
      ...[...whole.keys()].map((length) => whole.subarray(0, length)),
      ...[0x00, 0xa0, 0xf6, 0xff].map((byte) => Buffer.concat([whole, Buffer.of(byte)])),
      Buffer.concat([whole, whole]),
      attestationObject({ ...parts, chain: [issuer, leaf] }),
      attestationObject({ ...parts, chain: [leaf] }),
      attestationObject({ ...parts, chain: [leaf, leaf] }),
      attestationObject({ ...parts, chain: [leaf, issuer, issuer] }),
      attestationObject({
        ...parts,
        chain: [leaf, issuer, new X509Certificate(APP_ATTESTATION_ROOT).raw],
      }),
      attestationObject({ ...parts, chain: [Buffer.concat([leaf, Buffer.of(0)]), issuer] }),
      attestationObject({ ...parts, chain: [leaf, Buffer.concat([issuer, Buffer.of(0)])] }),
      attestationObject({
        ...parts,
        authenticatorData: Buffer.concat([parts.authenticatorData, Buffer.of(0xa0)]),
      }),
      reordered(whole),
      Buffer.alloc(20_000, 0x81),
    ]
    const verdicts = await inBatches(changed, (attestationObject) =>
      verdictOf({ ...recorded, attestationObject }),
    )
    assert.ok(
      !verdicts.includes('accepted'),
      `change ${verdicts.indexOf('accepted')} of ${recorded.name}`,
    )
  }
})

test('rejects a flipped bit in any byte outside the receipt', {
  skip,
  timeout: 10 * MINUTE_MS,
}, async () => {
  const issuers = new Set<string>()
  for (const recorded of attestations) {
    const whole = recorded.attestationObject
    const parts = readAttestationObject(whole)
    assert.ok(parts)
    // All phones share one issuer: its bytes are changed once, or this takes long.
    const issuer = parts.chain[1].toString('hex')
    const left = [parts.receipt, ...(issuers.has(issuer) ? [parts.chain[1]] : [])].map((part) => ({
      from: whole.indexOf(part),
      length: part.length,
    }))
    issuers.add(issuer)
    const bits = bitsOf(whole).filter(
      (bit) => !left.some(({ from, length }) => bit >= from * 8 && bit < (from + length) * 8),
    )
    const verdicts = await inBatches(bits, (bit) =>
      verdictOf({ ...recorded, attestationObject: flipBit(whole, bit) }),
    )
    assert.equal(
      verdicts.indexOf('accepted'),
      -1,
      `bit ${bits[verdicts.indexOf('accepted')]} of ${recorded.name}`,
    )
  }
})

test('ships the recorded roots with their published fingerprints', {
  skip,
}, () => {
  assert.equal(
    APP_ATTESTATION_ROOT,
    readVector('app-attest', 'Apple_App_Attestation_Root_CA.pem').toString(),
  )
  const g3 = new X509Certificate(APPLE_ROOT_G3)
  assert.ok(g3.raw.equals(readVector('app-attest', 'AppleRootCA-G3.cer')))
  assert.equal(
    hash('sha256', g3.raw),
    '63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179',
  )
  assert.equal(
    hash('sha256', new X509Certificate(APP_ATTESTATION_ROOT).raw),
    '1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932',
  )
})

/** The same members, the last one first. */
function reordered(whole: Buffer): Buffer {
  const at = whole.lastIndexOf('authData') - 1
  return Buffer.concat([whole.subarray(0, 1), whole.subarray(at), whole.subarray(1, at)])
}
