import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import type { EventId } from '@bonded/contract'
import { newSecret, signatureHeaders } from '../../../src/adapters/webhooks/signature.ts'

/** The worked example of the published libraries. */
const EXAMPLE = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  payload: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}

test('signs as the published example of Standard Webhooks', () => {
  const { secret, id, timestamp, payload, signature } = EXAMPLE
  const message = { id: id as EventId, body: payload, scheme: 'v1' as const, secrets: [secret] }
  assert.deepEqual(signatureHeaders(message, timestamp * 1_000 + 999), {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  })
})

test('v1a signs with Ed25519, which the public key verifies', () => {
  const { secret, verifier } = newSecret('v1a')
  assert.match(verifier, /^whpk_[A-Za-z0-9+/]{43}=$/)
  const message = { id: 'evt_1' as EventId, body: '{}', scheme: 'v1a' as const, secrets: [secret] }
  const [scheme, signature = ''] = signed(message).split(',')
  assert.equal(scheme, 'v1a')
  const x = Buffer.from(verifier.slice('whpk_'.length), 'base64').toString('base64url')
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
  const bytes = Buffer.from(signature, 'base64')
  assert.ok(verify(null, Buffer.from('evt_1.1000.{}'), key, bytes))
  assert.ok(!verify(null, Buffer.from('evt_1.1001.{}'), key, bytes))
})

test('two secrets give two signatures, so that either verifies during a rotation', () => {
  const secrets = [newSecret('v1').secret, newSecret('v1').secret]
  const message = { id: 'evt_1' as EventId, body: '{}', scheme: 'v1' as const }
  const both = signed({ ...message, secrets }).split(' ')
  assert.deepEqual(
    both,
    secrets.map((secret) => signed({ ...message, secrets: [secret] })),
  )
  assert.notEqual(both[0], both[1])
})

function signed(message: Parameters<typeof signatureHeaders>[0]): string {
  return signatureHeaders(message, 1_000_000)['webhook-signature'] ?? ''
}
