import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appleTrust } from '@bonded/attestation/apple'
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
