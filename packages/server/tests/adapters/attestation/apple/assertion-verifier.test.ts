import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import { type AppAttest, makeId } from '@bonded/contract'
import { type AppExtensions, createAppAssertion, keyIdOf } from '@bonded/simulator'
import { anyBuildOf, spkiOf } from '../../../../../attestation/tests/apple/recordings.ts'
import { readVector, vectorsMissing as skip } from '../../../../../contract/tests/vectors.ts'
import { appleVerifier } from '../../../../src/adapters/attestation/apple/assertion-verifier.ts'
import type { Device } from '../../../../../core/src/domain/session.ts'

const APP_ID = 'TEAM123456.example.bank'
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clientDataHash = hash('sha256', 'payload', 'buffer')
const STORE: AppExtensions = { category: 4, bundleVersion: '7.1' }

interface Split {
  readonly appId: string
  readonly publicKeyPem: string
  /** The value in base64. */
  readonly clientData: string
  readonly app_attest: AppAttest
}

test('verifies an assertion over the rebuilt payload, with the key id in either encoding', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const payload = 'the payload'
  const signed = hash('sha256', payload, 'buffer')
  const { authenticatorData, signature } = createAppAssertion(
    { appId: APP_ID, extensions: STORE },
    { privateKey: pair.privateKey, counter: 1, clientDataHash: signed },
  )
  assertVerified({
    appId: APP_ID,
    publicKeyPem: pair.publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    clientData: Buffer.from(payload).toString('base64'),
    app_attest: {
      key_id: keyIdOf(pair.publicKey).toString('base64'),
      client_data_hash: signed.toString('base64url'),
      authenticator_data: authenticatorData.toString('base64url'),
      signature: signature.toString('base64url'),
    },
  })
})

test('verifies the recorded assertions in the same way', { skip }, () => {
  const { assertions } = JSON.parse(
    readVector('app-attest', 'split-assertions.json').toString('utf8'),
  ) as { readonly assertions: readonly Split[] }
  assert.ok(assertions.length > 0)
  for (const recorded of assertions) assertVerified(recorded)
})

function assertVerified({ appId, publicKeyPem, clientData, app_attest }: Split): void {
  const payload = Buffer.from(clientData, 'base64').toString()
  const device = deviceOf({
    appId,
    publicKey: spkiOf(publicKeyPem),
    keyId: Buffer.from(app_attest.key_id, 'base64').toString('base64url'),
  })
  const step = (change: Partial<AppAttest>, signed = payload, apps = [anyBuildOf(appId)]) => {
    const result = appleVerifier(apps).verify({
      device,
      payload: signed,
      appAttest: { ...app_attest, ...change },
    })
    return result.ok ? result.value : result.rejection.step
  }
  assert.deepEqual(step({}), { counter: 1, userVerified: false })
  assert.deepEqual(step({ key_id: device.keyId }), { counter: 1, userVerified: false })
  assert.equal(step({ key_id: 'A'.repeat(43) }), 'key_id')
  assert.equal(step({ key_id: `${app_attest.key_id} ` }), 'key_id')
  assert.equal(step({ client_data_json: 'e30' }), 'client_data_json')
  assert.equal(step({ client_data_hash: 'A'.repeat(43) }), 'client_data_hash')
  assert.equal(step({}, `${payload} `), 'client_data_hash')
  assert.equal(step({ authenticator_data: `${app_attest.authenticator_data}==` }), 'encoding')
  assert.equal(step({ signature: `${app_attest.signature} ` }), 'encoding')
  assert.equal(step({}, payload, []), 'app_not_configured')
}

test('rejects an assertion of a registered key for another device', () => {
  const device = deviceOf({
    appId: APP_ID,
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    keyId: keyIdOf(publicKey).toString('base64url'),
  })
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { authenticatorData, signature } = createAppAssertion(
    { appId: APP_ID, extensions: STORE },
    { privateKey: other.privateKey, counter: 1, clientDataHash },
  )
  const appAttest: AppAttest = {
    key_id: device.keyId,
    client_data_hash: clientDataHash.toString('base64url'),
    authenticator_data: authenticatorData.toString('base64url'),
    signature: signature.toString('base64url'),
  }
  const result = appleVerifier([anyBuildOf(APP_ID)]).verify({
    device,
    payload: 'payload',
    appAttest,
  })
  assert.deepEqual(result, {
    ok: false,
    rejection: { reason: 'assertion_invalid', step: 'signature' },
  })
})

function deviceOf(of: Pick<Device, 'appId' | 'publicKey' | 'keyId'>): Device {
  return {
    ...of,
    id: makeId('dev', Buffer.alloc(16)),
    subjectId: makeId('sub', Buffer.alloc(16)),
    format: 'apple-app-attest',
    environment: 'production',
    status: 'active',
    counter: 0,
    lastIssuedAt: null,
    createdAt: 0,
  }
}
