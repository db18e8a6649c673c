import assert from 'node:assert/strict'
import { generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import {
  attestationObject,
  attestedData,
  certifyKey,
  createAndroidAuthority,
  honestDescription,
  keyIdOf,
  createAppAttestAuthority,
  SIMULATED_APP,
} from '@bonded/simulator'
import { appleTrust } from '../src/apple/trust.ts'
import { verifyAppAttestation } from '../src/apple/verify-attestation.ts'
import { attest, trustAt, wordOf } from './android/trust.ts'
import { anyBuildOf } from './apple/recordings.ts'
import { inBatches } from './harness/in-batches.ts'
import { reencodeCbor, reencodeDer } from './harness/reencode.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const CHALLENGE = Buffer.alloc(32, 3)

test('rejects an Android chain with a certificate in another encoding', async () => {
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
  const verdictOf = async (certificates: readonly Uint8Array[]) =>
    wordOf(await attest(certificates, CHALLENGE, trust))
  assert.equal(await verdictOf(chain), 'ok')
  const reencoded = chain.flatMap((certificate, index) =>
    reencodeDer(certificate).map(({ what, bytes }) => ({
      what: `${index}: ${what}`,
      chain: chain.with(index, bytes),
    })),
  )
  const verdicts = await inBatches(reencoded, (one) => verdictOf(one.chain))
  assert.ok(verdicts.length > 1_000)
  assert.equal(reencoded[verdicts.indexOf('ok')]?.what, undefined)
})

const APP_ID = 'TEAM123456.example.bank'
const APPLE = createAppAttestAuthority(NOW)

/** An attestation whose certificate covers the authenticator data in any encoding. */
function appleObject(tamper: (data: Buffer) => Buffer = (data) => data) {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyId = keyIdOf(publicKey)
  const extensions = { category: 4, bundleVersion: '7.1' }
  const authenticatorData = tamper(
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
  return wordOf(verifyAppAttestation(facts, appleTrust([anyBuildOf(APP_ID)], [APPLE.root])))
}

test('rejects an Apple attestation that is in another encoding, as a whole or in a certificate', () => {
  const { keyId, leaf, issuer, ...members } = appleObject()
  const honest = attestationObject({ ...members, chain: [leaf, issuer] })
  assert.equal(appleVerdict(keyId, honest), 'ok')
  const reencoded = [
    ...reencodeCbor(honest),
    ...reencodeDer(leaf).map(({ what, bytes }) => ({
      what: `leaf ${what}`,
      bytes: attestationObject({ ...members, chain: [bytes, issuer] }),
    })),
    ...reencodeDer(issuer).map(({ what, bytes }) => ({
      what: `issuer ${what}`,
      bytes: attestationObject({ ...members, chain: [leaf, bytes] }),
    })),
  ]
  const verdicts = reencoded.map(({ bytes }) => appleVerdict(keyId, bytes))
  assert.ok(verdicts.length > 500)
  assert.equal(reencoded[verdicts.indexOf('ok')]?.what, undefined)
})

/** Header, AAGUID, length and credential id; then the COSE key. */
const COSE_KEY_AT = 37 + 16 + 2 + 32
const COSE_KEY_BYTES = 77

test('rejects a key or a map of iOS 27 in another encoding, although the certificate covers it', () => {
  const [from, to] = [COSE_KEY_AT, COSE_KEY_AT + COSE_KEY_BYTES]
  const verdictOf = (tamper: (data: Buffer) => Buffer) => {
    const { keyId, leaf, issuer, ...members } = appleObject(tamper)
    return appleVerdict(keyId, attestationObject({ ...members, chain: [leaf, issuer] }))
  }
  assert.equal(
    verdictOf((data) => Buffer.concat([data])),
    'ok',
  )
  const { authenticatorData } = appleObject()
  const [reencodedKeys, reencodedMaps] = [
    authenticatorData.subarray(from, to),
    authenticatorData.subarray(to),
  ].map(reencodeCbor)
  assert.ok(
    reencodedKeys && reencodedMaps && reencodedKeys.length > 30 && reencodedMaps.length > 15,
  )
  // A map without some members is another map, and the order of members has no meaning.
  for (const [index, { what }] of reencodedKeys.entries()) {
    if (what.endsWith('reversed')) continue
    assert.notEqual(
      verdictOf((data) =>
        Buffer.concat([
          data.subarray(0, from),
          reencodeCbor(data.subarray(from, to))[index]?.bytes ?? data,
          data.subarray(to),
        ]),
      ),
      'ok',
      what,
    )
  }
  for (const { what, bytes } of reencodedMaps) {
    if (['reversed', 'emptied', 'left out'].includes(what)) continue
    assert.notEqual(
      verdictOf((data) => Buffer.concat([data.subarray(0, to), bytes])),
      'ok',
      what,
    )
  }
})

test('rejects truncated authenticator data, although the certificate covers it', () => {
  for (let length = 0; length < COSE_KEY_AT + COSE_KEY_BYTES; length++) {
    const { keyId, leaf, issuer, ...members } = appleObject((data) => data.subarray(0, length))
    assert.equal(
      appleVerdict(keyId, attestationObject({ ...members, chain: [leaf, issuer] })),
      'authenticator_data',
      `${length} bytes`,
    )
  }
})
