import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { assertionPayload, evidenceRequestPayload } from '@bonded/contract'
import { fc } from '../../../tests/random.ts'
import { signPayload } from '../src/assertion.ts'
import { concat, hashOf, utf8 } from '../src/bytes.ts'
import { authenticatorData } from '../src/index.ts'
import { createKey, readKey, sha256, softwareSigner } from '../../simulator/src/software-key.ts'

const VECTORS = new URL('../../../../shared/vectors/protocol/vectors.json', import.meta.url)
const skip = existsSync(VECTORS) ? false : 'the shared vectors are not here'
const vectors = () => JSON.parse(readFileSync(VECTORS, 'utf8'))
const appIdHash = () => createHash('sha256').update('software').digest()

test('reproduces the worked example of an assertion byte for byte', { skip }, async () => {
  const { ids, nonces, context, context_hash, evidence, assertion } = vectors()
  assert.equal(await hashOf(sha256, context), context_hash)
  const payload = assertionPayload({
    ...ids,
    nonce: nonces[0].nonce,
    issued_at: '2026-11-21T09:30:03.000Z',
    workflow: 'wire_transfer',
    action: 'approve_wire',
    origin: 'https://bond.example',
    context: await hashOf(sha256, context),
    evidence: await hashOf(sha256, evidence.verified_evidence),
  })
  assert.equal(payload, assertion.payload)
  const signed = { data: Buffer.alloc(0), message: Buffer.alloc(0) }
  const attest = await signPayload(
    {
      sha256,
      signer: {
        publicKey: async () => Buffer.alloc(0),
        sign: async (message) => (
          (signed.message = Buffer.from(message)),
          Buffer.from(assertion.signature_software_or_android, 'base64url')
        ),
      },
      store: { device: async () => undefined, keep: async () => {}, nextCounter: async () => 1 },
    },
    { payload, key: { key_id: 'k' } },
  )
  assert.equal(attest.client_data_hash, assertion.client_data_hash)
  assert.equal(attest.authenticator_data, assertion.authenticator_data)
  const key = createPublicKey({
    key: Buffer.from(assertion.public_key_spki, 'base64url'),
    format: 'der',
    type: 'spki',
  })
  assert.ok(
    verify(
      'sha256',
      signed.message,
      key,
      Buffer.from(assertion.signature_software_or_android, 'base64url'),
    ),
  )
})

test('reproduces the worked example of an evidence request byte for byte', { skip }, async () => {
  const { ids, nonces, evidence_request } = vectors()
  const { tenant_id: _not, ...own } = ids
  const payload = evidenceRequestPayload({
    ...own,
    nonce: nonces[0].nonce,
    issued_at: '2026-11-21T09:30:01.500Z',
    signals: await hashOf(sha256, evidence_request.signals),
  })
  assert.equal(payload, evidence_request.payload)
  assert.equal(
    createHash('sha256').update(payload).digest('base64url'),
    evidence_request.client_data_hash,
  )
})

test('authenticator data is 37 bytes that hold any UInt32 counter from 1, big-endian', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 0xffff_ffff }), (counter) => {
      const data = Buffer.from(authenticatorData(appIdHash(), counter))
      assert.equal(data.length, 37)
      assert.equal(data[32], 0x05)
      assert.equal(data.readUInt32BE(33), counter)
    }),
  )
})

test('rejects a counter outside the range of a UInt32', () => {
  for (const counter of [0, -1, 1.5, 0x1_0000_0000, Number.NaN])
    assert.throws(() => authenticatorData(appIdHash(), counter), { code: 'counter_exhausted' })
})

test('a new key signs what its public key verifies', async () => {
  const pkcs8 = createKey()
  const signer = softwareSigner(async () => readKey(pkcs8))
  const key = createPublicKey({
    key: Buffer.from(await signer.publicKey()),
    format: 'der',
    type: 'spki',
  })
  assert.equal(key.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  assert.ok(verify('sha256', utf8('message'), key, await signer.sign(utf8('message'))))
})

test('UTF-8 and joining agree with Node, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), (a, b) => {
      fc.pre(a.isWellFormed() && b.isWellFormed())
      assert.deepEqual(Buffer.from(concat(utf8(a), utf8(b))), Buffer.from(a + b, 'utf8'))
    }),
  )
})
