import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AUTHORITY,
  CHALLENGE,
  describe,
  newKey,
  NOW,
  TRUSTED,
} from '../../../../../attestation/tests/android/chains.ts'
import { trustAt } from '../../../../../attestation/tests/android/trust.ts'
import { androidAttestationVerifier } from '../../../../src/adapters/attestation/android/attestation-verifier.ts'
import { checkRevocation } from '../../../../src/adapters/attestation/android/revocation-check.ts'
import { outcomeOf } from '../../../../../../tests/harness/outcome-of.ts'

test('android-key: rejects a chain with characters outside base64url', () => {
  const [leaf = '', ...rest] = AUTHORITY.attest(newKey().publicKey, describe()).map((one) =>
    one.toString('base64url'),
  )
  const challenge = CHALLENGE.toString('base64url')
  const verify = androidAttestationVerifier(trustAt(NOW, TRUSTED).policy)
  for (const bent of [`${leaf}=`, ` ${leaf}`, leaf.replace(/.$/, '+'), '']) {
    assert.notEqual(
      outcomeOf(verify({ challenge, certificate_chain: [bent, ...rest] }, NOW).result),
      'ok',
    )
  }
  // A skipped malformed certificate would give one chain two encodings.
  for (const junk of ['!', `${leaf}=`]) {
    assert.equal(
      outcomeOf(verify({ challenge, certificate_chain: [leaf, junk, ...rest] }, NOW).result),
      'encoding',
    )
  }
  for (const bent of [`${challenge}=`, 'A']) {
    assert.equal(
      outcomeOf(verify({ challenge: bent, certificate_chain: [leaf, ...rest] }, NOW).result),
      'encoding',
    )
  }
})

test('android-key: rejects a revoked certificate, and responds with overloaded without a usable list', async () => {
  const requested: (readonly string[])[] = []
  for (const [status, reason, step] of [
    ['revoked', 'attestation_invalid', 'revoked'],
    ['unknown', 'overloaded', 'revocation_unknown'],
  ] as const) {
    const list = {
      async check(serials: readonly string[]) {
        requested.push(serials)
        return status
      },
    }
    const checked = await checkRevocation(['1', 'ab'], list)
    assert.deepEqual(checked, { ok: false, rejection: { reason, step } })
    // Google's list does not apply below a test root.
    assert.equal((await checkRevocation([], list)).ok, true)
  }
  assert.deepEqual(requested, [
    ['1', 'ab'],
    ['1', 'ab'],
  ])
  assert.equal((await checkRevocation(['1'], { check: async () => 'good' })).ok, true)
})
