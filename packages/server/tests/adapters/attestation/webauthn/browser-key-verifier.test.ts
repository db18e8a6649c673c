import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createAuthenticator } from '@bonded/simulator'
import { TestClock } from '../../../../../../tests/harness/test-clock.ts'
import { browserKeyVerifier } from '../../../../src/adapters/attestation/webauthn/browser-key-verifier.ts'

const DIGEST = hash('sha256', 'a signing certificate', 'hex')
const verifier = browserKeyVerifier({
  origin: 'https://bond.bank.example',
  rpId: 'bank.example',
  android: { apps: [{ package: 'example.bank', certificateDigests: [DIGEST] }] },
  clock: new TestClock(),
})

function register(origin: string, rpId = 'bank.example') {
  const challenge = randomBytes(32).toString('base64url')
  const registration = createAuthenticator({ origin, rpId }).register(challenge)
  return verifier.verify({ challenge, registration })
}

test('accepts the origins of the phone page, of an iOS app, and of a configured Android app', () => {
  const certificate = Buffer.from(DIGEST, 'hex').toString('base64url')
  for (const origin of [
    'https://bond.bank.example',
    'https://bank.example',
    `android:apk-key-hash:${certificate}`,
  ]) {
    const verified = register(origin)
    assert.ok(verified.ok, origin)
    assert.equal(verified.value.rpId, 'bank.example')
  }
})

test('rejects every other origin and relying party id', () => {
  const other = hash('sha256', 'another certificate', 'base64url')
  for (const [origin, rpId, step] of [
    ['https://shop.bank.example', 'bank.example', 'client_data_origin'],
    [`android:apk-key-hash:${other}`, 'bank.example', 'client_data_origin'],
    ['https://bond.bank.example', 'bond.bank.example', 'app_id'],
  ] as const) {
    const verified = register(origin, rpId)
    assert.deepEqual(verified, { ok: false, rejection: { reason: 'browser_key_invalid', step } })
  }
})
