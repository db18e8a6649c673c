import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, hash, privateEncrypt } from 'node:crypto'
import { test } from 'node:test'
import { isRecoverySignature } from '../../src/passport/iso-9796-2.ts'

const CHALLENGE = Buffer.from('0102030405060708', 'hex')
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const BLOCK_BYTES = 128

/**
 * A signed block with this header and trailer. The chip's own part fills the rest. `covered`
 * extends the digest.
 */
function signed({
  header = [0x6a],
  trailer = [0x34, 0xcc],
  digest = 'sha256',
  over = CHALLENGE,
  covered = [] as readonly number[],
}) {
  const own = Buffer.alloc(
    BLOCK_BYTES - header.length - trailer.length - hash(digest, '', 'buffer').length,
    0x5a,
  )
  const block = Buffer.concat([
    Buffer.from(header),
    own,
    hash(digest, Buffer.concat([Buffer.from(covered), own, over]), 'buffer'),
    Buffer.from(trailer),
  ])
  return privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, block)
}
const taken = (signature: Buffer) => isRecoverySignature(CHALLENGE, { signature, key: publicKey })

test('accepts the header of partial recovery, also padded, and rejects full recovery, which covers no challenge', () => {
  assert.ok(taken(signed({})))
  assert.ok(taken(signed({ header: [0x6b, 0xba] })))
  assert.ok(taken(signed({ header: [0x6b, 0xbb, 0xbb, 0xba] })))
  for (const header of [
    [0x4a],
    [0x4b, 0xba],
    [0x6b],
    [0x6b, 0xbb],
    [0x6b, 0x5a],
    [0x6b, 0xbb, 0x5a],
    [0x2a],
    [0x60],
  ]) {
    assert.ok(!taken(signed({ header })), String(header))
    assert.ok(!taken(signed({ header, covered: header })), `${String(header)} under the digest`)
  }
})

test('selects exactly one digest for each trailer', () => {
  const trailers = {
    sha1: [0xbc],
    sha224: [0x38, 0xcc],
    sha256: [0x34, 0xcc],
    sha384: [0x36, 0xcc],
    sha512: [0x35, 0xcc],
  }
  for (const digest of Object.keys(trailers)) {
    for (const [name, trailer] of Object.entries(trailers))
      assert.equal(taken(signed({ digest, trailer })), name === digest, `${digest} under ${name}`)
  }
  assert.ok(!taken(signed({ digest: 'ripemd160', trailer: [0x31, 0xcc] })))
})

test('accepts n - s as the same signature', () => {
  const modulus = BigInt(
    `0x${Buffer.from(publicKey.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex')}`,
  )
  const other = modulus - BigInt(`0x${signed({}).toString('hex')}`)
  assert.ok(taken(Buffer.from(other.toString(16).padStart(BLOCK_BYTES * 2, '0'), 'hex')))
})

test('rejects a signature over another challenge, of another length, or not below the modulus', () => {
  assert.ok(!taken(signed({ over: Buffer.alloc(8) })))
  assert.ok(!taken(signed({ over: Buffer.concat([CHALLENGE, Buffer.of(0)]) })))
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(BLOCK_BYTES - 1),
    Buffer.alloc(BLOCK_BYTES + 1),
    Buffer.alloc(BLOCK_BYTES, 0xff),
  ])
    assert.ok(!taken(bytes))
})

test('rejects a block that is too short for its digest', () => {
  const short = generateKeyPairSync('rsa', { modulusLength: 512 })
  const block = Buffer.concat([Buffer.of(0x6a), Buffer.alloc(61), Buffer.of(0x35, 0xcc)])
  const signature = privateEncrypt(
    { key: short.privateKey, padding: constants.RSA_NO_PADDING },
    block,
  )
  assert.ok(!isRecoverySignature(CHALLENGE, { signature, key: short.publicKey }))
})
