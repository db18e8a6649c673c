import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { publicKeyOf } from '../../../src/adapters/attestation/public-key-cache.ts'

const newPublicKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey.export({
    format: 'der',
    type: 'spki',
  })

test('a cached key serves only the bytes that it was read from', () => {
  const keyId = 'the id that an attacker gives to a key of its own'
  const [own, foreign] = [newPublicKey(), newPublicKey()]
  for (const publicKey of [foreign, own, own, foreign]) {
    const key = publicKeyOf({ keyId, publicKey })
    assert.deepEqual(key?.export({ format: 'der', type: 'spki' }), publicKey)
  }
})
