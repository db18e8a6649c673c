import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import {
  attestationObject,
  attestedData,
  certifyKey,
  der,
  encodeCbor,
  keyIdOf,
} from '@bonded/simulator'
import { trustAnchor } from '../../src/apple/certificate-chain.ts'
import { appleTrust } from '../../src/apple/trust.ts'
import { verifyAppAttestation } from '../../src/apple/verify-attestation.ts'
import {
  APP_ID,
  NOW,
  authority,
  clientDataHash,
  PRODUCTION,
  judge,
  stepOf,
  registration,
  tampered,
  patched,
} from './app-registrations.ts'
import { anyBuildOf } from './recordings.ts'

test('returns sandbox for any environment under a trusted test root', async () => {
  for (const environment of ['production', 'development'] as const) {
    const result = await judge(...registration({ environment }))
    assert.ok(result.ok, JSON.stringify(result))
    assert.equal(result.value.environment, 'sandbox')
    assert.deepEqual([result.value.category, result.value.bundleVersion], [4, '7.1'])
    assert.deepEqual(result.value.receipt, {
      ok: false,
      reason: 'receipt_invalid',
      step: 'structure',
    })
  }
})

test('checks category and bundle version of an attestation', async () => {
  assert.equal(await stepOf(...registration(), { app: { categories: [2] } }), 'validation_category')
  assert.equal(
    await stepOf(...registration(), { app: { bundleVersions: { minimum: '7.2' } } }),
    'bundle_version',
  )
  assert.equal(
    await stepOf(...registration({ extensions: undefined }), { app: { missing: 'refuse' } }),
    'validation_category',
  )
  assert.equal(
    await stepOf(...registration({ extensions: undefined }), { app: { missing: 'allow' } }),
    'accepted',
  )
})

test('returns production only for a production key under a production root', async () => {
  const anchors = [trustAnchor(authority.root, 'production')]
  const trust = { ...appleTrust([anyBuildOf(APP_ID)]), anchors }
  for (const [environment, returned] of [
    ['production', 'production'],
    ['development', 'sandbox'],
  ] as const) {
    const [attestationObject, keyId] = registration({ environment })
    const result = verifyAppAttestation(
      { attestationObject, keyId, clientDataHash, now: NOW },
      trust,
    )
    assert.ok(result.ok, JSON.stringify(result))
    assert.equal(result.value.environment, returned)
  }
})

test('rejects an environment that the app is not configured for', async () => {
  assert.equal(
    await stepOf(...registration(), { app: { environments: ['development'] } }),
    'environment',
  )
  assert.equal(
    await stepOf(...registration({ environment: 'development' }), {
      app: { environments: ['production'] },
    }),
    'environment',
  )
  assert.equal(await stepOf(...registration(), { app: { environments: [] } }), 'environment')
})

test('rejects tampered authenticator data at each step when the nonce matches', async () => {
  assert.equal(await stepOf(...tampered((data) => data)), 'accepted')
  assert.equal(await stepOf(...tampered(patched(0, Buffer.alloc(32)))), 'app_id')
  assert.equal(await stepOf(...tampered(patched(33, Buffer.of(0, 0, 0, 1)))), 'counter')
  assert.equal(await stepOf(...tampered(patched(33, Buffer.of(0x80, 0, 0, 0)))), 'counter')
  // The first nine bytes of the AAGUID are those of both environments.
  assert.equal(await stepOf(...tampered(patched(46, Buffer.from('abcdefg')))), 'environment')
  assert.equal(await stepOf(...tampered(patched(55, Buffer.alloc(32)))), 'credential_id')
  assert.equal(await stepOf(...tampered(patched(32, Buffer.of(0x00)))), 'authenticator_data')
  assert.equal(await stepOf(...tampered(patched(53, Buffer.of(0, 31)))), 'authenticator_data')
  assert.equal(await stepOf(...tampered((data) => data.subarray(0, 87))), 'authenticator_data')
  assert.equal(
    await stepOf(...tampered((data) => Buffer.concat([data, Buffer.of(0xa0)]))),
    'authenticator_data',
  )
  const unknown = Buffer.concat([Buffer.from('a161785907d0', 'hex'), Buffer.alloc(2_000)])
  assert.equal(
    await stepOf(...tampered((data) => Buffer.concat([data.subarray(0, 164), unknown]))),
    'authenticator_data',
  )
  // Algorithm, curve and type of the COSE key.
  for (const at of [89, 91, 93])
    assert.equal(await stepOf(...tampered(patched(at, Buffer.of(0x03)))), 'authenticator_data')
  assert.equal(await stepOf(...tampered(patched(100, Buffer.alloc(8)))), 'credential_key')
})

test('rejects a certificate for another nonce or another key', async () => {
  assert.equal(await stepOf(...tampered((data) => data, { nonce: Buffer.alloc(32) })), 'nonce')
  assert.equal(await stepOf(...tampered((data) => data, { nonce: Buffer.alloc(0) })), 'nonce')
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  assert.equal(await stepOf(...tampered((data) => data, { certified: other })), 'key_id')
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey
  assert.equal(await stepOf(...tampered((data) => data, { certified: p384 })), 'key_id')
})

test('rejects a key on another curve, even if certificate, key id and credential match', async () => {
  // A point of secp256k1 has the length of a P-256 point, and the credential names P-256.
  for (const namedCurve of ['secp256k1', 'P-384', 'P-521']) {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve })
    const authenticatorData = attestedData({ ...PRODUCTION, publicKey })
    const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
    const chain = certifyKey(authority, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })
    const step = await stepOf(
      attestationObject({ chain, receipt: Buffer.alloc(0), authenticatorData }),
      keyIdOf(publicKey),
    )
    assert.equal(step, namedCurve === 'secp256k1' ? 'key_id' : 'authenticator_data', namedCurve)
  }
})

test('rejects a valid object that exceeds the size limit', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authenticatorData = attestedData({ ...PRODUCTION, publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const chain = certifyKey(authority, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })
  const withReceiptOf = (length: number) =>
    attestationObject({ chain, receipt: Buffer.alloc(length), authenticatorData })
  const room = 16_384 - withReceiptOf(1_000).length + 1_000
  assert.equal(await stepOf(withReceiptOf(room), keyIdOf(publicKey)), 'accepted')
  assert.equal(await stepOf(withReceiptOf(room + 1), keyIdOf(publicKey)), 'attestation_object')
})

test('rejects an envelope with another format, certificate count or member type', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const authenticatorData = attestedData({ ...PRODUCTION, publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const x5c = certifyKey(authority, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })
  const statement = { x5c, receipt: Buffer.alloc(0) }
  const mapOf = (members: object) => new Map(Object.entries(members))
  const written = (tamper: {
    readonly fmt?: unknown
    readonly attStmt?: object
    readonly authData?: unknown
  }) => {
    const { attStmt, ...rest } = {
      fmt: 'apple-appattest',
      attStmt: statement,
      authData: authenticatorData,
      ...tamper,
    }
    return encodeCbor(mapOf({ fmt: rest.fmt, attStmt: mapOf(attStmt), authData: rest.authData }))
  }
  assert.equal(await stepOf(written({}), keyIdOf(publicKey)), 'accepted')
  for (const x5cOf of [(junk: Buffer) => [x5c[0], junk], (junk: Buffer) => [junk, x5c[1]]]) {
    assert.equal(
      await stepOf(
        written({ attStmt: { ...statement, x5c: x5cOf(der.nothing()) } }),
        keyIdOf(publicKey),
      ),
      'certificate_chain',
    )
  }
  for (const tamper of [
    { fmt: 'apple' },
    { fmt: 1 },
    { authData: 'text' },
    { attStmt: { ...statement, receipt: 'text' } },
    { attStmt: { ...statement, x5c: [] } },
    { attStmt: { ...statement, x5c: x5c.slice(1) } },
    { attStmt: { ...statement, x5c: [...x5c, ...x5c.slice(1)] } },
    { attStmt: { ...statement, x5c: [x5c[0], 'text'] } },
    { attStmt: { ...statement, x5c: ['text', x5c[1]] } },
    { attStmt: { ...statement, x5c: 'text' } },
    { attStmt: { x5c } },
    { attStmt: { ...statement, more: 1 } },
  ]) {
    assert.equal(
      await stepOf(written(tamper), keyIdOf(publicKey)),
      'attestation_object',
      JSON.stringify(Object.keys(tamper)),
    )
  }
})
