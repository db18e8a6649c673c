import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { type AppAttest, decodeBase64url } from '@bonded/contract'
import { type AuthenticatorOptions, createAuthenticator, WEBAUTHN_FLAGS } from '@bonded/simulator'
import { flipped } from '../../../../../attestation/tests/harness/tamper.ts'
import {
  CHALLENGE,
  NOW,
  ORIGIN,
  trustOf,
} from '../../../../../attestation/tests/webauthn/test-pki.ts'
import { webauthnVerifier } from '../../../../src/adapters/attestation/webauthn/assertion-verifier.ts'
import { webauthnAttestationVerifier } from '../../../../src/adapters/attestation/webauthn/attestation-verifier.ts'
import type { Device } from '../../../../../core/src/domain/session.ts'
import { outcomeOf } from '../../../../../../tests/harness/outcome-of.ts'

const { userPresent, userVerified, backupEligible, backedUp } = WEBAUTHN_FLAGS
const FLAGS_AT = 32
const register = webauthnAttestationVerifier({ origin: ORIGIN, trust: trustOf() })

function bondedPhone(options: Partial<AuthenticatorOptions> = {}) {
  const authenticator = createAuthenticator({ origin: ORIGIN, ...options })
  const registration = authenticator.register(CHALLENGE)
  const registered = register({ challenge: CHALLENGE, registration }, NOW).result
  assert.ok(registered.ok)
  const device = { ...registered.value, format: 'webauthn' } as unknown as Device
  const verifier = webauthnVerifier({ origin: ORIGIN })
  return {
    authenticator,
    device,
    verify: (appAttest: AppAttest, payload = 'payload') =>
      verifier.verify({ device, payload, appAttest }),
  }
}

test('webauthn: verifies an assertion over the payload', () => {
  const { authenticator, verify } = bondedPhone()
  const verified = verify(authenticator.assert('payload'))
  assert.deepEqual(verified, { ok: true, value: { counter: 1, userVerified: true } })
})

test('webauthn: rejects an assertion for another payload, page, user or key with its own step', () => {
  const { authenticator, verify } = bondedPhone()
  const { client_data_json: _none, ...withoutClientData } = authenticator.assert('payload')
  const verdicts: readonly (readonly [AppAttest, string])[] = [
    [authenticator.assert('another'), 'client_data_challenge'],
    [
      authenticator.assert('payload', { clientData: { type: 'webauthn.create' } }),
      'client_data_type',
    ],
    [
      authenticator.assert('payload', { clientData: { origin: 'https://evil.example' } }),
      'client_data_origin',
    ],
    [
      authenticator.assert('payload', { clientData: { crossOrigin: true } }),
      'client_data_cross_origin',
    ],
    [authenticator.assert('payload', { flags: userVerified }), 'user_present'],
    [authenticator.assert('payload', { flags: userPresent }), 'user_verified'],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | backedUp }),
      'backup_flags',
    ],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | backupEligible }),
      'backup_flags',
    ],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | 0x40 }),
      'authenticator_data',
    ],
    [
      authenticator.assert('payload', { flags: userPresent | userVerified | 0x80 }),
      'authenticator_data',
    ],
    [
      {
        ...createAuthenticator({ origin: ORIGIN }).assert('payload'),
        key_id: authenticator.credentialId,
      },
      'signature',
    ],
    [createAuthenticator({ origin: ORIGIN }).assert('payload'), 'key_id'],
    [
      {
        ...authenticator.assert('payload'),
        client_data_hash: Buffer.alloc(32).toString('base64url'),
      },
      'client_data_hash',
    ],
    [withoutClientData, 'client_data_hash'],
    [
      {
        ...authenticator.assert('payload'),
        signature: `${authenticator.assert('payload').signature}=`,
      },
      'encoding',
    ],
  ]
  for (const [appAttest, step] of verdicts) assert.equal(outcomeOf(verify(appAttest)), step)
})

test('webauthn: rejects an assertion of another RP ID', async () => {
  const { authenticator, device } = bondedPhone()
  const verified = webauthnVerifier({ origin: ORIGIN }).verify({
    device: { ...device, appId: 'example.com' },
    payload: 'payload',
    appAttest: authenticator.assert('payload'),
  })
  assert.equal(outcomeOf(verified), 'app_id')
})

test('webauthn: accepts authenticator extensions as one map without trailing data', () => {
  const { authenticator, verify } = bondedPhone()
  const withMore = (flags: number, more: string) => {
    const honest = authenticator.assert('payload', { flags })
    const data = Buffer.concat([
      decodeBase64url(honest.authenticator_data) ?? Buffer.alloc(0),
      Buffer.from(more, 'hex'),
    ])
    const signed = Buffer.concat([data, Buffer.from(honest.client_data_hash, 'base64url')])
    return {
      ...honest,
      authenticator_data: data.toString('base64url'),
      signature: sign('sha256', signed, authenticator.privateKey).toString('base64url'),
    }
  }
  const withExtensions = userPresent | userVerified | 0x80
  assert.equal(outcomeOf(verify(withMore(withExtensions, 'a16175f5'))), 'ok')
  for (const more of [
    '',
    '80',
    'a16175',
    'a16175f5a0',
    'bf6175f5ff',
    'a26175f56175f5',
    'b8016175f5',
  ]) {
    assert.equal(outcomeOf(verify(withMore(withExtensions, more))), 'authenticator_data', more)
  }
  assert.equal(outcomeOf(verify(withMore(userPresent | userVerified, 'a0'))), 'authenticator_data')
})

test('webauthn: rejects an assertion with any single bit flipped', () => {
  const { authenticator, verify } = bondedPhone()
  const honest = authenticator.assert('payload')
  assert.equal(outcomeOf(verify(honest)), 'ok')
  for (const member of [
    'key_id',
    'client_data_hash',
    'authenticator_data',
    'signature',
    'client_data_json',
  ] as const) {
    const bytes = Buffer.from(honest[member], 'base64url')
    for (const at of bytes.keys()) {
      for (let bit = 0; bit < 8; bit++) {
        const appAttest = { ...honest, [member]: flipped(bytes, at, bit).toString('base64url') }
        assert.equal(verify(appAttest).ok, false, `${member} byte ${at} bit ${bit}`)
      }
    }
  }
})

test('webauthn: rejects trailing data after any member and truncated authenticator data', () => {
  const authenticator = createAuthenticator({ origin: ORIGIN })
  const registration = authenticator.register(CHALLENGE)
  const registered = register({ challenge: CHALLENGE, registration }, NOW).result
  assert.ok(registered.ok)
  const device = { ...registered.value, format: 'webauthn' } as unknown as Device
  const appAttest = authenticator.assert('payload')
  const verdictOf = (tampering: object) =>
    outcomeOf(
      webauthnVerifier({ origin: ORIGIN }).verify({
        device,
        payload: 'payload',
        appAttest: { ...appAttest, ...tampering },
      }),
    )
  assert.equal(verdictOf({}), 'ok')
  for (const member of ['client_data_json', 'authenticator_data', 'signature'] as const) {
    assert.equal(verdictOf({ [member]: `${appAttest[member]}=` }), 'encoding', member)
  }
  // The registered key signs this data as well.
  for (const length of [0, FLAGS_AT, 36]) {
    const data = Buffer.from(appAttest.authenticator_data, 'base64url').subarray(0, length)
    const signature = sign(
      'sha256',
      Buffer.concat([data, Buffer.from(appAttest.client_data_hash, 'base64url')]),
      authenticator.privateKey,
    )
    assert.equal(
      verdictOf({
        authenticator_data: data.toString('base64url'),
        signature: signature.toString('base64url'),
      }),
      'authenticator_data',
    )
  }
})

test('webauthn: rejects an assertion if the stored key cannot be read or cannot verify', () => {
  const { authenticator, device } = bondedPhone()
  const verifyWith = (keyId: string, publicKey: Buffer) =>
    outcomeOf(
      webauthnVerifier({ origin: ORIGIN }).verify({
        device: { ...device, keyId, publicKey },
        payload: 'payload',
        appAttest: { ...authenticator.assert('payload'), key_id: keyId },
      }),
    )
  const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'der', type: 'spki' })
  assert.equal(verifyWith('x25519', x25519), 'signature')
  assert.equal(verifyWith('junk', Buffer.of(0x30, 0x00)), 'public_key')
})
