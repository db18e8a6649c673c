import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import { type AppAttest, decodeBase64url } from '@bonded/contract'
import {
  attestationObject,
  attestedData,
  certifyKey,
  createAndroidAuthority,
  honestDescription,
  keyIdOf,
  makeAppAttestAuthority,
  SIMULATED_APP,
} from '@bonded/simulator'
import { verifyAttestedKey } from '../src/adapters/proofs/android/attested-key.ts'
import { appleTrust } from '../src/adapters/proofs/apple/registrar.ts'
import { verifyAttestation } from '../src/adapters/proofs/apple/verify-attestation.ts'
import type { Device } from '../src/domain/session.ts'
import { trustAt, wordOf } from './android-trust.ts'
import { anyBuildOf } from './apple-recorded.ts'
import { androidKey, appleKey, asTestRoots, webauthnKey } from './harness/attested-phones.ts'
import { inBatches } from './harness/in-batches.ts'
import { cborRespellings, derRespellings } from './respellings.ts'
import { TestClock } from './harness/test-clock.ts'

const NOW = new TestClock().now()
const CHALLENGE = Buffer.alloc(32, 3)
const PAYLOAD = '{"typ":"bonded-assertion/v1"}'
const { registrars, verifiers } = asTestRoots(new TestClock())

test('a certificate of an Android chain that is written otherwise registers no key', async () => {
  const authority = createAndroidAuthority()
  const app = {
    package: SIMULATED_APP.package,
    certificateDigests: [Buffer.from(SIMULATED_APP.certificateDigest).toString('hex')],
  }
  const trust = trustAt(NOW, { roots: new Set([authority.rootKeyDigest]), apps: [app] })
  const chain = authority.attest(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
    honestDescription(CHALLENGE),
  )
  const verdictOf = async (bent: readonly Uint8Array[]) =>
    wordOf(await verifyAttestedKey(bent, CHALLENGE, trust))
  assert.equal(await verdictOf(chain), 'ok')
  const bent = chain.flatMap((certificate, at) =>
    derRespellings(certificate).map(({ what, bytes }) => ({
      what: `${at}: ${what}`,
      chain: chain.with(at, bytes),
    })),
  )
  const verdicts = await inBatches(bent, (one) => verdictOf(one.chain))
  assert.ok(verdicts.length > 1_000)
  assert.equal(bent[verdicts.indexOf('ok')]?.what, undefined)
})

const APP_ID = 'TEAM123456.example.bank'
const APPLE = makeAppAttestAuthority(NOW)

/** An attestation whose certificate vouches for the authenticator data, however it is written. */
function appleObject(bend: (data: Buffer) => Buffer = (data) => data) {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyId = keyIdOf(publicKey)
  const extensions = { category: 4, bundleVersion: '7.1' }
  const authenticatorData = bend(
    attestedData({ appId: APP_ID, environment: 'production', extensions, publicKey }),
  )
  const nonce = hash(
    'sha256',
    Buffer.concat([authenticatorData, hash('sha256', CHALLENGE, 'buffer')]),
    'buffer',
  )
  const [leaf = Buffer.alloc(0), issuer = Buffer.alloc(0)] = certifyKey(APPLE, {
    publicKey,
    keyId,
    nonce,
    now: NOW,
  })
  return { keyId, leaf, issuer, authenticatorData, receipt: Buffer.alloc(0) }
}

function appleVerdict(keyId: Buffer, bytes: Buffer) {
  const facts = {
    attestationObject: bytes,
    keyId,
    clientDataHash: hash('sha256', CHALLENGE, 'buffer'),
    now: NOW,
  }
  return wordOf(verifyAttestation(facts, appleTrust([anyBuildOf(APP_ID)], [APPLE.root])))
}

test('an Apple attestation that is written otherwise, or either of its certificates, registers no key', () => {
  const { keyId, leaf, issuer, ...parts } = appleObject()
  const honest = attestationObject({ ...parts, chain: [leaf, issuer] })
  assert.equal(appleVerdict(keyId, honest), 'ok')
  const bent = [
    ...cborRespellings(honest),
    ...derRespellings(leaf).map(({ what, bytes }) => ({
      what: `leaf ${what}`,
      bytes: attestationObject({ ...parts, chain: [bytes, issuer] }),
    })),
    ...derRespellings(issuer).map(({ what, bytes }) => ({
      what: `issuer ${what}`,
      bytes: attestationObject({ ...parts, chain: [leaf, bytes] }),
    })),
  ]
  const verdicts = bent.map(({ bytes }) => appleVerdict(keyId, bytes))
  assert.ok(verdicts.length > 500)
  assert.equal(bent[verdicts.indexOf('ok')]?.what, undefined)
})

/** Header, AAGUID, length and credential id; then the COSE key. */
const COSE_KEY_AT = 37 + 16 + 2 + 32
const COSE_KEY_BYTES = 77

test('a key or a map of iOS 27 that is written otherwise registers nothing, though the certificate vouches for it', () => {
  const [from, to] = [COSE_KEY_AT, COSE_KEY_AT + COSE_KEY_BYTES]
  const verdictOf = (bend: (data: Buffer) => Buffer) => {
    const { keyId, leaf, issuer, ...parts } = appleObject(bend)
    return appleVerdict(keyId, attestationObject({ ...parts, chain: [leaf, issuer] }))
  }
  assert.equal(
    verdictOf((data) => Buffer.concat([data])),
    'ok',
  )
  const { authenticatorData } = appleObject()
  const [spelledKeys, spelledMaps] = [
    authenticatorData.subarray(from, to),
    authenticatorData.subarray(to),
  ].map(cborRespellings)
  assert.ok(spelledKeys && spelledMaps && spelledKeys.length > 30 && spelledMaps.length > 15)
  // Members of a map that are left out are others, not the same written otherwise; and in which order they stand says nothing.
  for (const [at, { what }] of spelledKeys.entries()) {
    if (what.endsWith('reversed')) continue
    assert.notEqual(
      verdictOf((data) =>
        Buffer.concat([
          data.subarray(0, from),
          cborRespellings(data.subarray(from, to))[at]?.bytes ?? data,
          data.subarray(to),
        ]),
      ),
      'ok',
      what,
    )
  }
  for (const { what, bytes } of spelledMaps) {
    if (['reversed', 'emptied', 'left out'].includes(what)) continue
    assert.notEqual(
      verdictOf((data) => Buffer.concat([data.subarray(0, to), bytes])),
      'ok',
      what,
    )
  }
})

test('authenticator data that is cut off anywhere registers nothing, though the certificate vouches for it', () => {
  for (let length = 0; length < COSE_KEY_AT + COSE_KEY_BYTES; length++) {
    const { keyId, leaf, issuer, ...parts } = appleObject((data) => data.subarray(0, length))
    assert.equal(
      appleVerdict(keyId, attestationObject({ ...parts, chain: [leaf, issuer] })),
      'authenticator_data',
      `${length} bytes`,
    )
  }
})

test('a browser’s registration that is written otherwise registers no key, but for the order of its members', async () => {
  const { registration } = webauthnKey().register(CHALLENGE.toString('base64url')) as {
    registration: { response: { attestationObject: string } }
  }
  const verdictOf = async (bytes: Buffer) => {
    const response = { ...registration.response, attestationObject: bytes.toString('base64url') }
    const request = {
      challenge: CHALLENGE.toString('base64url'),
      registration: { ...registration, response },
    } as never
    const registered = await registrars.webauthn?.register(request)
    assert.ok(registered)
    return wordOf(registered)
  }
  const honest = Buffer.from(decodeBase64url(registration.response.attestationObject) ?? [])
  assert.equal(await verdictOf(honest), 'ok')
  const taken: string[] = []
  for (const { what, bytes } of cborRespellings(honest))
    if ((await verdictOf(bytes)) === 'ok') taken.push(what)
  assert.deepEqual(taken, ['reversed', '5.3 reversed'])
})

for (const makeKey of [appleKey, androidKey, webauthnKey]) {
  const key = makeKey()
  test(`${key.format}: a signature that is written otherwise, or of numbers that none has, is refused`, async () => {
    const request = {
      challenge: CHALLENGE.toString('base64url'),
      ...key.register(CHALLENGE.toString('base64url')),
    } as never
    const registered = await registrars[key.format]?.register(request)
    assert.ok(registered?.ok)
    const device = { ...registered.value, id: 'dev_1', format: key.format } as unknown as Device
    const honest: AppAttest = {
      key_id: registered.value.keyId,
      ...key.assert(PAYLOAD, { counter: 7 }),
    }
    const verdictOf = (signature: Buffer) =>
      wordOf(
        verifiers[key.format].verify({
          device,
          payload: PAYLOAD,
          appAttest: { ...honest, signature: signature.toString('base64url') },
        }),
      )
    const signature = Buffer.from(decodeBase64url(honest.signature) ?? [])
    assert.equal(verdictOf(signature), 'ok')
    for (const { what, bytes } of derRespellings(signature))
      assert.match(verdictOf(bytes), /^(signature|encoding)$/, what)
    for (const one of NUMBERS)
      for (const other of NUMBERS)
        assert.match(verdictOf(signatureOf(one, other)), /^(signature|encoding)$/)
    // r and s side by side is another format's signature.
    assert.match(verdictOf(sideBySide(signature)), /^(signature|encoding)$/)
  })
}

/** Zero, one, minus one, the order of P-256, one more, and 33 bytes. */
const ORDER = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
const NUMBERS = [
  '00',
  '01',
  'ff',
  `00${ORDER}`,
  `00${ORDER.slice(0, -2)}52`,
  `7f${'00'.repeat(32)}`,
].map((hex) => Buffer.from(hex, 'hex'))

function signatureOf(one: Buffer, other: Buffer): Buffer {
  const numbers = Buffer.concat(
    [one, other].flatMap((number) => [Buffer.of(0x02, number.length), number]),
  )
  return Buffer.concat([Buffer.of(0x30, numbers.length), numbers])
}

function sideBySide(signature: Buffer): Buffer {
  const first = signature.readUInt8(3)
  const [one, other] = [signature.subarray(4, 4 + first), signature.subarray(6 + first)]
  return Buffer.concat(
    [one, other].map((number) => Buffer.concat([Buffer.alloc(32), number]).subarray(-32)),
  )
}
