import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createAuthenticator, createAuthenticatorAuthority, pemOf } from '@bonded/simulator'
import { FIDO_METADATA_ROOT } from '../../src/fido-metadata/root.ts'
import { packedRoots, readFidoMetadata } from '../../src/fido-metadata/index.ts'
import { attestationRoots, verifyWebAuthnRegistration } from '../../src/webauthn/index.ts'
import { POLICY, wordOf } from '../android/trust.ts'
import { blobOf, createBlobSigner, entryOf } from './blob.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const DAY_MS = 86_400_000
const MODEL = '00112233-4455-6677-8899-AABBCCDDEEFF'
const AAGUID = MODEL.replaceAll('-', '').toLowerCase()
const vendor = createAuthenticatorAuthority(Buffer.from(AAGUID, 'hex'))
const signer = createBlobSigner()
const roots = attestationRoots([pemOf(signer.root)], 'production')

const LIST = {
  no: 42,
  nextUpdate: '2026-12-01',
  entries: [entryOf(MODEL, { roots: [vendor.root] }), { aaid: '0001#0001' }],
}
const read = (blob: string, options: { now?: number; graceMs?: number } = {}) =>
  readFidoMetadata(blob, { now: NOW, roots, ...options })
const listWith = (...entries: readonly unknown[]) => {
  const result = read(blobOf({ ...LIST, entries }, signer))
  assert.ok(result.ok, wordOf(result))
  return result.value
}

test('reads the models of a signed list', () => {
  const result = read(blobOf(LIST, signer))
  assert.ok(result.ok)
  const { entries, ...rest } = result.value
  assert.deepEqual(rest, {
    number: 42,
    nextUpdate: Date.parse('2026-12-01T23:59:59.999Z'),
    unreadable: 0,
  })
  assert.equal(entries.length, 1)
  assert.equal(entries[0]?.aaguid, AAGUID)
  assert.deepEqual(entries[0]?.statuses, ['FIDO_CERTIFIED'])
  assert.ok(entries[0]?.roots[0]?.encoded.equals(vendor.root))
})

test('trusts by default the root that the FIDO Alliance uses, and no other one', () => {
  assert.equal(
    new X509Certificate(FIDO_METADATA_ROOT).fingerprint256.replaceAll(':', ''),
    'CBB522D7B7F127AD6A0113865BDF1CD4102E7D0759AF635A7CF4720DC963C53B',
  )
  assert.equal(wordOf(readFidoMetadata(blobOf(LIST, signer), { now: NOW })), 'certificate_chain')
})

test('rejects a list of another signer under the same root, and a changed list', () => {
  const genuine = blobOf(LIST, signer)
  const [header = '', payload = '', signature = ''] = genuine.split('.')
  const other = blobOf({ ...LIST, no: 43 }, signer).split('.')
  const cases: Readonly<Record<string, string>> = {
    '': 'encoding',
    [`${header}.${payload}`]: 'encoding',
    [`${header}.${payload}.${signature}=`]: 'encoding',
    [`${header}.${other[1]}.${signature}`]: 'signature',
    [blobOf(LIST, signer, { alg: 'none' })]: 'header',
    [blobOf(LIST, signer, { alg: 'RS256' })]: 'signature',
    [blobOf(LIST, signer, { x5c: [] })]: 'header',
    [blobOf(LIST, signer, { x5c: undefined })]: 'header',
    [blobOf(LIST, {
      ...signer,
      key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    })]: 'signature',
    [blobOf(LIST, createBlobSigner())]: 'certificate_chain',
    [blobOf([], signer)]: 'payload',
    [blobOf({ ...LIST, no: '42' }, signer)]: 'payload',
    [blobOf({ ...LIST, nextUpdate: 'soon' }, signer)]: 'payload',
    [blobOf({ ...LIST, entries: {} }, signer)]: 'payload',
  }
  for (const [blob, step] of Object.entries(cases)) assert.equal(wordOf(read(blob)), step)

  const shop = createBlobSigner('shop.example')
  const trusted = attestationRoots([pemOf(shop.root)], 'production')
  assert.equal(wordOf(readFidoMetadata(blobOf(LIST, shop), { now: NOW, roots: trusted })), 'signer')
})

test('rejects a list after the day of its next update, or later with a grace period', () => {
  const due = Date.parse('2026-12-01T23:59:59.999Z')
  const blob = blobOf(LIST, signer)
  assert.equal(wordOf(read(blob, { now: due })), 'ok')
  assert.equal(wordOf(read(blob, { now: due + 1 })), 'outdated')
  assert.equal(wordOf(read(blob, { now: due + DAY_MS, graceMs: DAY_MS })), 'ok')
  assert.equal(wordOf(read(blob, { now: due + DAY_MS + 1, graceMs: DAY_MS })), 'outdated')
})

test('counts the entries that it cannot read, and skips keys that are listed as roots', () => {
  const unreadable = [
    entryOf('no aaguid', { roots: [vendor.root] }),
    entryOf(MODEL, { statuses: [7] }),
    { aaguid: MODEL },
    { aaguid: MODEL, metadataStatement: { attestationRootCertificates: [] } },
  ]
  assert.equal(listWith(...unreadable).unreadable, unreadable.length)
  const { entries } = listWith(entryOf(MODEL, { roots: [signer.certificate, Buffer.alloc(3)] }))
  assert.deepEqual(entries[0]?.roots, [])
})

test('trusts no model with a known compromise, unless the caller does', () => {
  for (const status of [
    'REVOKED',
    'USER_VERIFICATION_BYPASS',
    'ATTESTATION_KEY_COMPROMISE',
    'USER_KEY_REMOTE_COMPROMISE',
    'USER_KEY_PHYSICAL_COMPROMISE',
  ]) {
    const statuses = ['FIDO_CERTIFIED', status, 'UPDATE_AVAILABLE']
    const list = listWith(entryOf(MODEL, { roots: [vendor.root], statuses }))
    assert.deepEqual(packedRoots(list), [], status)
    assert.equal(packedRoots(list, () => true).length, 1)
  }
})

/** Registers an authenticator of this model, which states another one. */
function registerWith(list: ReturnType<typeof listWith>, aaguid: string): string {
  const challenge = randomBytes(32)
  const { attestation } = vendor
  const json = createAuthenticator({
    origin: 'https://bank.example',
    attestation,
    aaguid: Buffer.from(aaguid, 'hex'),
  }).register(challenge.toString('base64url'))
  const decode = (text: string) => Buffer.from(text, 'base64url')
  const result = verifyWebAuthnRegistration(
    {
      credentialId: decode(json.id),
      clientDataJson: decode(json.response.clientDataJSON),
      attestationObject: decode(json.response.attestationObject),
      challenge,
      origin: 'https://bank.example',
      rpId: 'bank.example',
      now: NOW,
    },
    { packed: packedRoots(list), apple: [], android: POLICY },
  )
  return result.ok ? `attested ${result.value.attested}` : result.step
}

test('a root from the list attests the models that list it, and no others', () => {
  const other = 'f'.repeat(32)
  const own = listWith(entryOf(MODEL, { roots: [vendor.root] }))
  assert.equal(registerWith(own, AAGUID), 'attested true')
  const others = listWith(entryOf(other, { roots: [vendor.root] }))
  assert.equal(registerWith(others, AAGUID), 'root')
  const both = listWith(
    entryOf(other, { roots: [vendor.root] }),
    entryOf(MODEL, { roots: [vendor.root] }),
  )
  assert.equal(packedRoots(both).length, 1)
  assert.equal(registerWith(both, AAGUID), 'attested true')
})
