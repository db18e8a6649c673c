import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { assertionPayload, evidenceRequestPayload } from '@bonded/contract'
import { workedExample } from '../../contract/tests/worked-example.ts'
import { fc } from '../../../tests/random.ts'
import { signPayload } from '../src/assertion.ts'
import { concat, hashOf, utf8 } from '../src/bytes.ts'
import { authenticatorData } from '../src/index.ts'
import { createKey, readKey, sha256, softwareSigner } from '../../simulator/src/software-key.ts'

const appIdHash = () => createHash('sha256').update('software').digest()

test('reproduces the worked example of an assertion byte for byte', async () => {
  const { assertion, context, context_hash, ids, nonceAt, verified_evidence } = workedExample
  assert.equal(await hashOf(sha256, context), context_hash)
  const { issued_at, workflow, action, origin, signature } = assertion
  const payload = assertionPayload({
    ...ids,
    nonce: nonceAt(0),
    issued_at,
    workflow,
    action,
    origin,
    context: context_hash,
    evidence: await hashOf(sha256, verified_evidence),
  })
  assert.equal(payload, assertion.payload)
  let signed = Buffer.alloc(0)
  const attest = await signPayload(
    {
      sha256,
      signer: {
        publicKey: async () => Buffer.alloc(0),
        sign: async (message) => (
          (signed = Buffer.from(message)), Buffer.from(signature, 'base64url')
        ),
      },
      store: { device: async () => undefined, keep: async () => {}, nextCounter: async () => 1 },
    },
    { payload, key: { key_id: 'k' } },
  )
  assert.equal(attest.client_data_hash, assertion.client_data_hash)
  assert.equal(attest.authenticator_data, assertion.authenticator_data)
  const key = createPublicKey({ key: assertion.public_key, format: 'der', type: 'spki' })
  assert.ok(verify('sha256', signed, key, Buffer.from(signature, 'base64url')))
})

test('reproduces the worked example of an evidence request byte for byte', async () => {
  const { evidence_request, ids, nonceAt } = workedExample
  const { tenant_id: _not, ...own } = ids
  const { issued_at, signals } = evidence_request
  const payload = evidenceRequestPayload({
    ...own,
    nonce: nonceAt(0),
    issued_at,
    signals: await hashOf(sha256, signals),
  })
  assert.equal(payload, evidence_request.payload)
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
