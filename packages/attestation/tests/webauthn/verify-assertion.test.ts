import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { createAuthenticator } from '@bonded/simulator'
import { verifyAuthenticationResponse } from '@simplewebauthn/server'
import { verifyWebAuthnAssertion } from '../../src/webauthn/verify-assertion.ts'
import { wordOf } from '../android/trust.ts'
import { ORIGIN } from './test-pki.ts'

const authenticator = createAuthenticator({ origin: ORIGIN })
const publicKey = createPublicKey(authenticator.privateKey.export({ format: 'pem', type: 'pkcs8' }))
const sent = authenticator.assert('payload')
const decode = (text: string) => Buffer.from(text, 'base64url')
const honest = {
  publicKey,
  backupEligible: false,
  clientDataJson: decode(sent.client_data_json),
  authenticatorData: decode(sent.authenticator_data),
  signature: decode(sent.signature),
  challenge: hash('sha256', 'payload', 'buffer'),
  origin: ORIGIN,
  rpId: new URL(ORIGIN).hostname,
}

test('accepts an assertion that the library accepts', async () => {
  assert.deepEqual(verifyWebAuthnAssertion(honest), { ok: true, value: { counter: 1 } })
  const { verified } = await verifyAuthenticationResponse({
    response: {
      id: authenticator.credentialId,
      rawId: authenticator.credentialId,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: sent.client_data_json,
        authenticatorData: sent.authenticator_data,
        signature: sent.signature,
      },
    },
    expectedChallenge: honest.challenge.toString('base64url'),
    expectedOrigin: ORIGIN,
    expectedRPID: honest.rpId,
    credential: { id: authenticator.credentialId, publicKey: coseOf(publicKey), counter: 0 },
  })
  assert.ok(verified)
})

test('accepts a confirmation by a page of another origin, for that origin alone', async () => {
  const page = 'https://www.bank.test'
  const other = createAuthenticator({ origin: ORIGIN })
  const confirmation = other.confirm('payload', page)
  const key = createPublicKey(other.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const confirmed = {
    ...honest,
    publicKey: key,
    clientDataJson: decode(confirmation.response.clientDataJSON),
    authenticatorData: decode(confirmation.response.authenticatorData),
    signature: decode(confirmation.response.signature),
    origin: page,
  }
  assert.deepEqual(verifyWebAuthnAssertion(confirmed), { ok: true, value: { counter: 1 } })
  assert.equal(
    wordOf(verifyWebAuthnAssertion({ ...confirmed, origin: ORIGIN })),
    'client_data_origin',
  )
  const { verified } = await verifyAuthenticationResponse({
    response: { ...confirmation, clientExtensionResults: {} },
    expectedChallenge: honest.challenge.toString('base64url'),
    expectedOrigin: page,
    expectedRPID: honest.rpId,
    credential: { id: other.credentialId, publicKey: coseOf(key), counter: 0 },
  })
  assert.ok(verified)
  assert.equal(other.assert('payload').client_data_hash, sent.client_data_hash)
})

test('rejects an assertion by a key that cannot verify signatures, and does not throw', () => {
  const unfit = generateKeyPairSync('x25519').publicKey
  assert.equal(wordOf(verifyWebAuthnAssertion({ ...honest, publicKey: unfit })), 'signature')
})

test('rejects an assertion for another relying party', () => {
  const other = { ...honest, rpId: `other.${honest.rpId}` }
  assert.equal(wordOf(verifyWebAuthnAssertion(other)), 'app_id')
  // Only the key's owner learns that the relying party is another one.
  const forged = { ...other, signature: honest.signature.map((byte) => byte ^ 1) }
  assert.equal(wordOf(verifyWebAuthnAssertion(forged)), 'signature')
})

test('rejects client data that names a member twice at any depth', () => {
  const text = honest.clientDataJson.toString()
  for (const [more, step] of [
    ['"a":1', 'signature'],
    ['"a":{"b":1},"c":{"b":2}', 'signature'],
    ['"a":"\\"a\\":"', 'signature'],
    ['"a":1,"a":2', 'client_data'],
    ['"a":1,"\\u0061":2', 'client_data'],
    ['"a":[{"b":1,"b":2}]', 'client_data'],
    ['"type" :"webauthn.get"', 'client_data'],
  ] as const) {
    const clientDataJson = Buffer.from(`${text.slice(0, -1)},${more}}`)
    assert.equal(wordOf(verifyWebAuthnAssertion({ ...honest, clientDataJson })), step, more)
  }
})

function coseOf(key: KeyObject): Uint8Array<ArrayBuffer> {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const parts = ['a5010203262001215820', decode(x).toString('hex'), '225820']
  return Uint8Array.from(Buffer.from([...parts, decode(y).toString('hex')].join(''), 'hex'))
}
