import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { androidAppId, SIMULATED_APP } from '@bonded/simulator'
import { appAssertionVerifier } from '../../../src/adapters/attestation/app-assertion-verifier.ts'
import type { Device } from '../../../../core/src/domain/session.ts'
import { outcomeOf } from '../../../../../tests/harness/outcome-of.ts'
import { flipped } from '../../../../attestation/tests/harness/tamper.ts'

const APP_ID = androidAppId(SIMULATED_APP)
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const device = {
  format: 'android-key',
  keyId: 'key',
  appId: APP_ID,
  publicKey: publicKey.export({ format: 'der', type: 'spki' }),
} as unknown as Device

/** The members of an assertion over the text `payload`. */
function partsOf(appId: string, counter: number) {
  const data = Buffer.concat([sha256(appId), Buffer.alloc(5, 5)])
  data.writeUInt32BE(counter, 33)
  const hash = sha256('payload')
  return {
    client_data_hash: hash,
    authenticator_data: data,
    signature: sign('sha256', Buffer.concat([data, hash]), privateKey),
  }
}

function verify(parts: ReturnType<typeof partsOf>, more: object = {}) {
  const sent = {
    key_id: 'key',
    client_data_hash: parts.client_data_hash.toString('base64url'),
    authenticator_data: parts.authenticator_data.toString('base64url'),
    signature: parts.signature.toString('base64url'),
  }
  return appAssertionVerifier.verify({
    device,
    payload: 'payload',
    appAttest: { ...sent, ...more },
  })
}

test('android-key: requires the registered app and reads the counter as 32 unsigned bits', () => {
  const verified = verify(partsOf(APP_ID, 4_294_967_295))
  assert.ok(verified.ok)
  assert.deepEqual(verified.value, { counter: 4_294_967_295, userVerified: false })
  assert.equal(outcomeOf(verify(partsOf('software', 1))), 'app_id')
  assert.equal(outcomeOf(verify(partsOf(APP_ID.toUpperCase(), 1))), 'app_id')
  // Only the key's owner learns that the app is another one.
  const forged = { ...partsOf('software', 1), signature: partsOf(APP_ID, 2).signature }
  assert.equal(outcomeOf(verify(forged)), 'signature')
  assert.equal(
    outcomeOf(verify(partsOf(APP_ID, 1), { client_data_json: 'e30' })),
    'client_data_json',
  )
  assert.equal(outcomeOf(verify(partsOf(APP_ID, 1), { key_id: 'another' })), 'key_id')
})

test('android-key: rejects an assertion of wrong length or encoding before it verifies the signature', () => {
  const honest = partsOf(APP_ID, 1)
  const signedAs = (data: Buffer<ArrayBuffer>) => ({
    ...honest,
    authenticator_data: data,
    signature: sign('sha256', Buffer.concat([data, honest.client_data_hash]), privateKey),
  })
  assert.equal(outcomeOf(verify(signedAs(honest.authenticator_data))), 'ok')
  // The registered key signed all of these.
  const longer = [Buffer.of(0), Buffer.of(0xa0), Buffer.alloc(1_000)].map((more) =>
    Buffer.concat([honest.authenticator_data, more]),
  )
  const shorter = [0, 32, 36].map((length) => honest.authenticator_data.subarray(0, length))
  for (const data of [...longer, ...shorter])
    assert.equal(outcomeOf(verify(signedAs(data))), 'encoding', `${data.length} bytes`)
  for (const member of ['authenticator_data', 'signature'] as const) {
    const junk = { [member]: `${honest[member].toString('base64url')}=` }
    assert.equal(outcomeOf(verify(honest, junk)), 'encoding', member)
  }
})

test('android-key: rejects an assertion if the stored key cannot be read or cannot verify', () => {
  const { publicKey: other } = generateKeyPairSync('x25519')
  const verifyWith = (keyId: string, spki: Buffer) => {
    const { client_data_hash, authenticator_data, signature } = partsOf(APP_ID, 1)
    return appAssertionVerifier.verify({
      device: { ...device, keyId, publicKey: spki },
      payload: 'payload',
      appAttest: {
        key_id: keyId,
        client_data_hash: client_data_hash.toString('base64url'),
        authenticator_data: authenticator_data.toString('base64url'),
        signature: signature.toString('base64url'),
      },
    })
  }
  const x25519 = other.export({ format: 'der', type: 'spki' })
  assert.equal(outcomeOf(verifyWith('x25519', x25519)), 'signature')
  assert.equal(outcomeOf(verifyWith('junk', Buffer.of(0x30, 0x00))), 'public_key')
})

test('android-key: rejects an assertion with any single bit flipped', () => {
  const parts = partsOf(APP_ID, 1)
  assert.ok(verify(parts).ok)
  for (const [name, part] of Object.entries(parts)) {
    for (const at of part.keys()) {
      for (let bit = 0; bit < 8; bit++)
        assert.equal(
          verify({ ...parts, [name]: flipped(part, at, bit) }).ok,
          false,
          `${name} byte ${at} bit ${bit}`,
        )
    }
  }
})

function sha256(data: string): Buffer {
  return createHash('sha256').update(data).digest()
}
