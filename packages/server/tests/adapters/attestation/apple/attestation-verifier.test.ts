import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { appleTrust, trustAnchor } from '@bonded/attestation/apple'
import { attestKey, createAppAttestAuthority } from '@bonded/simulator'
import { anyBuildOf, attestations } from '../../../../../attestation/tests/apple/recordings.ts'
import { vectorsMissing as skip } from '../../../../../contract/tests/vectors.ts'
import { appleAttestationVerifier } from '../../../../src/adapters/attestation/apple/attestation-verifier.ts'

test('accepts a key id in base64 or base64url and returns it in base64url', {
  skip,
}, () => {
  const recorded = attestations.find(({ name }) => name === 'veehaitch-ios-14.3-beta-3')
  assert.ok(recorded)
  const verify = appleAttestationVerifier(appleTrust([anyBuildOf(recorded.appId)]))
  const register = (
    key_id: string,
    challenge = 'd3VyemVscGZyb3Bm',
    attestation_object = recorded.attestationObject.toString('base64url'),
  ) => verify({ key_id, challenge, attestation_object }, recorded.now).result
  const spelled = recorded.keyId.toString('base64')
  assert.match(spelled, /\+/)
  for (const key_id of [spelled, recorded.keyId.toString('base64url')]) {
    const result = register(key_id)
    assert.ok(result.ok)
    assert.equal(result.value.keyId, recorded.keyId.toString('base64url'))
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
    register(spelled, undefined, recorded.attestationObject.toString('base64')).ok,
    false,
  )
})

test('accepts an attestation over the bytes of the challenge or over its text, and over no other', () => {
  const now = Date.parse('2026-11-21T09:30:00Z')
  const authority = createAppAttestAuthority(now)
  const app = appleTrust([anyBuildOf('TEAM123456.example.bank')]).apps
  const anchors = [trustAnchor(authority.root, 'production')]
  const verify = appleAttestationVerifier({ apps: app, anchors, receiptAnchors: [] })
  const challenge = randomBytes(32).toString('base64url')
  const bytes = Buffer.from(challenge, 'base64url')
  const stepOver = (signed: string | Uint8Array) => {
    const { keyId, attestationObject } = attestKey(
      { appId: 'TEAM123456.example.bank', extensions: undefined, environment: 'production' },
      {
        authority,
        privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
        clientDataHash: hash('sha256', signed, 'buffer'),
        now,
      },
    )
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
