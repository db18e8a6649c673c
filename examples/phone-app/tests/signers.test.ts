import assert from 'node:assert/strict'
import { createPublicKey, hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { trustAnchor, verifyAppAssertion, verifyAppAttestation } from '@bonded/attestation/apple'
import { PhoneError } from '@bonded/phone'
import { createAndroidAuthority, createAppAttestAuthority, encodeCbor } from '@bonded/simulator'
import { createDeviceStore } from '../src/device/device-store.ts'
import { createAppAttestSigner } from '../src/signers/app-attest.ts'
import { readAssertionObject } from '../src/signers/assertion-object.ts'
import { createKeystoreSigner } from '../src/signers/keystore.ts'
import { AppIntegrityDouble } from './doubles/app-integrity.ts'
import { KeystoreDouble } from './doubles/keystore.ts'
import { ItemsDouble } from './doubles/phone.ts'

const NOW = Date.parse('2026-11-21T09:30:00Z')
const APP_ID = 'TEAM123456.example.bank'
const ORIGIN = 'https://bond.example'
const CHALLENGE = randomBytes(32)
const noCounter = () => Promise.reject(new Error('App Attest counts by itself'))
const sha256 = (data: string | Uint8Array) => hash('sha256', data, 'buffer')

function iPhone() {
  const authority = createAppAttestAuthority(NOW)
  const integrity = new AppIntegrityDouble({ appId: APP_ID, authority, now: () => NOW })
  const store = createDeviceStore(new ItemsDouble(), ORIGIN)
  const trust = {
    apps: [
      {
        appId: APP_ID,
        environments: ['production' as const],
        categories: [4],
        missing: 'refuse' as const,
        bundleVersions: 'any' as const,
      },
    ],
    anchors: [trustAnchor(authority.root, 'production')],
    receiptAnchors: [],
  }
  return { integrity, trust, store, signer: createAppAttestSigner(integrity, store) }
}

function androidPhone() {
  const keystore = new KeystoreDouble(createAndroidAuthority())
  const answers: boolean[] = []
  const unlock = async () => {
    keystore.isUnlocked = answers.shift() ?? false
    return keystore.isUnlocked
  }
  return { keystore, answers, signer: createKeystoreSigner({ keystore, sha256, unlock }) }
}

function failsWith(code: string, reason: string) {
  return (error: unknown) =>
    error instanceof PhoneError && error.code === code && error.reason === reason
}

test('the attestation and the assertions of the iOS signer verify', async () => {
  const { signer, trust } = iPhone()
  const proof = await signer.attest(CHALLENGE)
  assert.ok('key_id' in proof)
  const attested = verifyAppAttestation(
    {
      attestationObject: Buffer.from(proof.attestation_object, 'base64url'),
      keyId: Buffer.from(proof.key_id, 'base64url'),
      clientDataHash: sha256(CHALLENGE.toString('base64url')),
      now: NOW,
    },
    trust,
  )
  assert.ok(attested.ok)
  const publicKey = createPublicKey({
    key: attested.value.publicKey,
    format: 'der',
    type: 'spki',
  })
  for (const counter of [1, 2]) {
    const payload = `{"typ":"bonded-assertion/v1","n":${counter},"text":"€ ü 汉"}`
    const clientDataHash = sha256(payload)
    const signed = await signer.assert({ payload, clientDataHash, nextCounter: noCounter })
    const [app] = trust.apps
    assert.ok(app)
    const verified = verifyAppAssertion({ ...signed, publicKey, clientDataHash }, app)
    assert.ok(verified.ok)
    assert.equal(verified.value.counter, counter)
  }
})

test('the iOS signer attests the same key again after an outage of Apple’s service', async () => {
  const { signer, integrity, store } = iPhone()
  const generate = integrity.generateKeyAsync.bind(integrity)
  integrity.generateKeyAsync = async () => {
    const keyId = await generate()
    integrity.nextError = 'ERR_APP_INTEGRITY_SERVER_UNAVAILABLE'
    return keyId
  }
  await assert.rejects(signer.attest(CHALLENGE), failsWith('unreachable', 'app_attest'))
  assert.equal(await store.keyId(), undefined)
  await signer.attest(CHALLENGE)
  assert.deepEqual(integrity.generated, [await store.keyId()])
})

test('the iOS signer creates a new key for each registration, and after any other failure', async () => {
  const { signer, integrity, store } = iPhone()
  await signer.attest(CHALLENGE)
  await signer.attest(CHALLENGE)
  assert.equal(new Set(integrity.generated).size, 2)
  const generate = integrity.generateKeyAsync.bind(integrity)
  integrity.generateKeyAsync = async () => {
    const keyId = await generate()
    integrity.nextError = 'ERR_APP_INTEGRITY_SYSTEM_FAILURE'
    return keyId
  }
  await assert.rejects(signer.attest(CHALLENGE), failsWith('authenticator_unusable', 'app_attest'))
  integrity.generateKeyAsync = generate
  await signer.attest(CHALLENGE)
  assert.equal(await store.keyId(), integrity.generated[3])
})

test('the iOS signer reports a key that a new installation lost', async () => {
  const { signer, integrity } = iPhone()
  const request = { payload: '{}', clientDataHash: sha256('{}'), nextCounter: noCounter }
  await assert.rejects(signer.assert(request), failsWith('authenticator_unusable', 'key_missing'))
  await signer.attest(CHALLENGE)
  integrity.reinstall()
  await assert.rejects(signer.assert(request), failsWith('authenticator_unusable', 'key_missing'))
})

test('an assertion object is read only in the form that iOS writes', () => {
  const [signature, authenticatorData] = [randomBytes(71), randomBytes(300)]
  const members = [
    ['signature', signature],
    ['authenticatorData', authenticatorData],
  ] as const
  const honest = encodeCbor(new Map(members))
  for (const object of [honest, encodeCbor(new Map(members.toReversed()))]) {
    const read = readAssertionObject(object)
    assert.deepEqual(Buffer.from(read.signature), signature)
    assert.deepEqual(Buffer.from(read.authenticatorData), authenticatorData)
  }
  const others = [
    Buffer.alloc(0),
    honest.subarray(1),
    Buffer.concat([honest, Buffer.of(0)]),
    encodeCbor(new Map([members[0]])),
    encodeCbor(new Map([...members, ['more', signature]])),
    encodeCbor(new Map([members[0], ['authData', authenticatorData]])),
    ...Array.from(honest, (_, length) => honest.subarray(0, length)),
  ]
  for (const object of others)
    assert.throws(
      () => readAssertionObject(object),
      failsWith('authenticator_unusable', 'assertion_object'),
      object.toString('hex'),
    )
})

test('the Android signer has the user unlock the key, and signs only then', async () => {
  const { signer, keystore, answers } = androidPhone()
  await signer.attest(CHALLENGE)
  let counter = 0
  const request = {
    payload: '{}',
    clientDataHash: sha256('{}'),
    nextCounter: async () => ++counter,
  }
  answers.push(false, true)
  await assert.rejects(signer.assert(request), failsWith('user_verification_failed', 'locked'))
  const signed = await signer.assert(request)
  // The skipped number is harmless. A repeated one would make the device suspect.
  assert.equal(Buffer.from(signed.authenticatorData).readUInt32BE(33), 2)
  await signer.assert(request)
  assert.equal(answers.length, 0)
  keystore.invalidate()
  await assert.rejects(signer.assert(request), failsWith('authenticator_unusable', 'key_missing'))
})

test('the Android signer reports a phone without a screen lock', async () => {
  const { signer, keystore } = androidPhone()
  keystore.hasScreenLock = false
  await assert.rejects(
    signer.attest(CHALLENGE),
    failsWith('authenticator_unusable', 'no_screen_lock'),
  )
})

test('does not treat an unknown error of a native module as a missing key', async () => {
  const { signer, keystore } = androidPhone()
  keystore.createKeyAsync = () => Promise.reject(new Error('KeyStore exception'))
  await assert.rejects(signer.attest(CHALLENGE), failsWith('authenticator_unusable', 'keystore'))
  const integrity = iPhone()
  integrity.integrity.nextError = 'ERR_APP_INTEGRITY_FEATURE_UNSUPPORTED'
  await assert.rejects(
    integrity.signer.attest(CHALLENGE),
    failsWith('authenticator_unusable', 'app_attest'),
  )
})
