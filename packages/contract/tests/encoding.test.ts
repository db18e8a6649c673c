import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import {
  credentialChecksum,
  decodeBase64url,
  encodeBase62,
  encodeBase64url,
  isServerCredential,
  makeId,
  parseId,
} from '../src/index.ts'

test('encodes base64url as Buffer does and decodes it to the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const text = encodeBase64url(bytes)
      assert.equal(text, Buffer.from(bytes).toString('base64url'))
      assert.deepEqual(decodeBase64url(text), bytes)
    }),
  )
})

test('rejects base64url text that no encoder writes', () => {
  for (const junk of ['A', 'AAAAA', 'AA==', 'A+', 'A/', 'A A', 'AA\n', 'é', 'AB', 'AAB', 'QQ=']) {
    assert.equal(decodeBase64url(junk), undefined, JSON.stringify(junk))
  }
})

test('each value has one encoding: decoded text encodes to the same text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), (text) => {
      const bytes = decodeBase64url(text)
      if (bytes) assert.equal(encodeBase64url(bytes), text)
    }),
  )
})

test('base62 pads on the left and keeps 128 bits in 22 digits', () => {
  assert.equal(encodeBase62(Uint8Array.of(0), 4), '0000')
  assert.equal(encodeBase62(Uint8Array.of(61), 1), 'z')
  assert.equal(encodeBase62(new Uint8Array(16).fill(255), 22).length, 22)
})

test('base62 encodes the number of the bytes at any length', () => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const read = encodeBase62(bytes, 0)
        .split('')
        .reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n)
      assert.equal(read, BigInt(`0x0${Buffer.from(bytes).toString('hex')}`))
    }),
  )
})

test('an id is read back only under its own prefix', () => {
  const id = makeId('sess', new Uint8Array(16).fill(7))
  assert.equal(parseId('sess', id), id)
  assert.equal(parseId('dev', id), undefined)
  assert.equal(parseId('sess', `${id}0`), undefined)
  assert.equal(parseId('sess', `${id}\n`), undefined)
})

test('detects one wrong character of a server credential offline', () => {
  const bare = `sk_beta_0123456789_${'a'.repeat(43)}`
  const credential = bare + credentialChecksum(bare)
  assert.ok(isServerCredential(credential))
  for (let index = 0; index < credential.length; index++) {
    const other = credential[index] === 'b' ? 'c' : 'b'
    assert.ok(
      !isServerCredential(credential.slice(0, index) + other + credential.slice(index + 1)),
      `character ${index}`,
    )
  }
})
