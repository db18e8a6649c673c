import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { test } from 'node:test'
import { encodeBase64url } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import {
  base64,
  checkpointFacts,
  checkpointText,
  closingText,
  LOG_BATCH,
  LOG_DELAY_SECONDS,
  logOrigin,
  noteSignature,
  proofText,
} from '../../src/domain/receipt-log.ts'

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

test('the name of a log has no scheme, and the epoch of a later log', () => {
  assert.equal(logOrigin('https://bond.example'), 'bond.example/receipts/log')
  assert.equal(logOrigin('http://localhost:8443'), 'localhost:8443/receipts/log')
  assert.equal(logOrigin('https://bond.example', 'e2'), 'bond.example/receipts/log/e2')
})

test('a checkpoint says its origin, size and root, in three lines', () => {
  fc.assert(
    fc.property(fc.nat(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (size, root) => {
      const text = checkpointText({ origin: 'bond.example/receipts/log', size, root })
      assert.deepEqual(checkpointFacts(`${text}\n— signatures`), {
        origin: 'bond.example/receipts/log',
        size,
        root: Buffer.from(root).toString('base64'),
      })
      assert.equal(text.split('\n').length, 4)
    }),
  )
})

test('returns no facts of a malformed checkpoint', () => {
  for (const note of [
    '',
    'origin',
    'origin\n',
    'origin\n5',
    'origin\n5\n',
    'origin\n5\n\nroot',
    'origin\n\nroot',
    'origin\n-5\nroot',
    'origin\n5.5\nroot',
    'origin\n0x5\nroot',
    'origin\n5 \nroot',
    'origin\n1e3\nroot',
    `origin\n${'9'.repeat(16)}\nroot`,
  ])
    assert.equal(checkpointFacts(note), undefined, JSON.stringify(note))
  assert.equal(checkpointFacts(`origin\n${'9'.repeat(15)}\nroot`)?.size, 999_999_999_999_999)
})

test('the statement of a new log names the closed one and all that it takes over', () => {
  assert.equal(
    closingText({
      origin: 'bond.example/receipts/log/e2',
      closed: 'bond.example/receipts/log',
      size: 7,
      root: 'cm9vdA==',
      at: '2026-11-26T12:00:00.000Z',
      reason: 'restore',
    }),
    'bond.example/receipts/log/e2\ncloses bond.example/receipts/log\n7\ncm9vdA==\n2026-11-26T12:00:00.000Z\nrestore\n',
  )
})

test('a signature has the line of the signed note that Go’s documentation shows', () => {
  // golang.org/x/mod/sumdb/note: the verifier key and the note of its example.
  const verifierKey = Buffer.from('ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW', 'base64')
  const text =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
  const line =
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'
  const signature = Buffer.from(line.split(' ')[2] ?? '', 'base64').subarray(4)
  const x = encodeBase64url(verifierKey.subarray(1))
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  assert.ok(verify(null, Buffer.from(text), key, signature))
  assert.equal(noteSignature(sha256, { origin: 'PeterNeumann', key: { x }, signature }), line)
})

test('a proof has its index, a line for each hash, and the checkpoint as it was signed', () => {
  const checkpoint = 'bond.example/receipts/log\n2\ncm9vdA==\n\n— bond.example/receipts/log AAAA\n'
  const path = [Uint8Array.of(1, 2, 3), Uint8Array.of(255)]
  assert.equal(
    proofText({ index: 1, path, checkpoint }),
    `c2sp.org/tlog-proof@v1\nindex 1\nAQID\n/w==\n\n${checkpoint}`,
  )
  assert.equal(
    proofText({ index: 0, path: [], checkpoint }),
    `c2sp.org/tlog-proof@v1\nindex 0\n\n${checkpoint}`,
  )
})

test('encodes bytes in padded base64, a whole batch of hashes too', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      assert.equal(base64(bytes), Buffer.from(bytes).toString('base64'))
    }),
  )
  const hashes = new Uint8Array(LOG_BATCH * 32).fill(250)
  assert.equal(base64(hashes), Buffer.from(hashes).toString('base64'))
})

test('the promised delay is a whole number of seconds, as the receipt says it', () => {
  assert.ok(Number.isInteger(LOG_DELAY_SECONDS) && LOG_DELAY_SECONDS > 0)
})
