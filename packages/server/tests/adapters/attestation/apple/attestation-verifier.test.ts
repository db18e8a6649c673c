import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { appleTrust, trustAnchor } from '@bonded/attestation/apple'
import { attestKey, createAppAttestAuthority } from '@bonded/simulator'
import { anyBuildOf } from '../../../../../attestation/tests/apple/recordings.ts'
import { appleAttestationVerifier } from '../../../../src/adapters/attestation/apple/attestation-verifier.ts'

const APP_ID = 'TEAM123456.example.bank'
const now = Date.parse('2026-11-21T09:30:00Z')
const authority = createAppAttestAuthority(now)
const verify = appleAttestationVerifier({
  apps: appleTrust([anyBuildOf(APP_ID)]).apps,
  anchors: [trustAnchor(authority.root, 'production')],
  receiptAnchors: [],
})
const attested = (signed: string | Uint8Array) =>
  attestKey(
    { appId: APP_ID, extensions: undefined, environment: 'production' },
    {
      authority,
      privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
      clientDataHash: hash('sha256', signed, 'buffer'),
      now,
    },
  )

test('accepts a key id in base64 or base64url and returns it in base64url', () => {
  const honest = 'd3VyemVscGZyb3Bm'
  let made = attested(Buffer.from(honest, 'base64url'))
  // A key id that the two encodings spell differently, as most are.
  while (!made.keyId.includes('+')) made = attested(Buffer.from(honest, 'base64url'))
  const { keyId: spelled, attestationObject } = made
  const keyId = Buffer.from(spelled, 'base64').toString('base64url')
  const register = (
    key_id: string,
    challenge = honest,
    attestation_object = attestationObject.toString('base64url'),
  ) => verify({ key_id, challenge, attestation_object }, now).result
  for (const key_id of [spelled, keyId]) {
    const result = register(key_id)
    assert.ok(result.ok)
    assert.equal(result.value.keyId, keyId)
  }
  for (const key_id of [
    '',
    'A',
    spelled.slice(0, -1),
    `${spelled}=`,
    ` ${spelled}`,
    `${spelled}\n`,
    spelled.replace('+', '-'),
    'A'.repeat(43),
  ]) {
    assert.equal(register(key_id).ok, false, key_id)
  }
  assert.equal(register(spelled, 'd3VyemVscGZyb3B').ok, false)
  assert.equal(
    register(spelled, undefined, `${attestationObject.toString('base64url')}=`).ok,
    false,
  )
})

test('accepts an attestation over the bytes of the challenge or over its text, and over no other', () => {
  const challenge = randomBytes(32).toString('base64url')
  const bytes = Buffer.from(challenge, 'base64url')
  const stepOver = (signed: string | Uint8Array) => {
    const { keyId, attestationObject } = attested(signed)
    const attestation_object = attestationObject.toString('base64url')
    const { result } = verify({ key_id: keyId, challenge, attestation_object }, now)
    return result.ok ? 'accepted' : result.rejection.step
  }
  assert.equal(stepOver(bytes), 'accepted')
  assert.equal(stepOver(challenge), 'accepted')
  for (const other of [
    bytes.toString('base64'),
    bytes.toString('hex'),
    `${challenge}\n`,
    '',
    bytes.subarray(1),
  ])
    assert.equal(stepOver(other), 'nonce')
})
