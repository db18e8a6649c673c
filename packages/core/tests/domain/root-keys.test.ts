import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBase64url } from '@bonded/contract'
import { parseRootKeys, RootKeyError } from '../../src/domain/root-keys.ts'

/** A key with so many distinct bytes. */
const bytesOf = (distinct: number, length = 32) =>
  Uint8Array.from({ length }, (_, index) => index % distinct)
const keyOf = (id: string, distinct = 32, length = 32) =>
  `${id}:${encodeBase64url(bytesOf(distinct, length))}`

/** The message of the rejection; undefined if the text is accepted. */
function problemOf(text: string): string | undefined {
  try {
    parseRootKeys(text)
  } catch (error) {
    assert.ok(error instanceof RootKeyError)
    assert.equal(error.code, 'root_keys_invalid')
    return error.message
  }
  return undefined
}

test('returns the keys in their order, the active one first', () => {
  assert.deepEqual(parseRootKeys(`${keyOf('k2')}, ${keyOf('k1', 16)}\n`), [
    { id: 'k2', bytes: bytesOf(32) },
    { id: 'k1', bytes: bytesOf(16) },
  ])
})

test('a key has exactly 32 bytes', () => {
  assert.deepEqual(
    [0, 16, 31, 32, 33, 64].map((length) => problemOf(keyOf('k1', 32, length)) === undefined),
    [false, false, false, true, false, false],
  )
})

test('a key of fewer than eight distinct bytes is not random', () => {
  assert.deepEqual(
    [1, 7, 8, 9].map((distinct) => problemOf(keyOf('k1', distinct))),
    ['key 1 is not random', 'key 1 is not random', undefined, undefined],
  )
})

test('an id has 1 to 32 characters of base64url', () => {
  for (const id of ['k', 'K_9-', 'k'.repeat(32)]) assert.equal(problemOf(keyOf(id)), undefined, id)
  for (const id of ['', 'k'.repeat(33), 'k 1', 'k.1', 'ключ', 'k1:k2'])
    assert.ok(problemOf(keyOf(id)), id)
})

test('rejects an empty list, an empty entry, and an id that is named twice', () => {
  for (const text of ['', ',', `${keyOf('k1')},`, `,${keyOf('k1')}`, 'k1', 'k1:'])
    assert.ok(problemOf(text), JSON.stringify(text))
  assert.equal(
    problemOf([keyOf('k1'), keyOf('k2'), keyOf('k1', 9)].join()),
    'key k1 is named twice',
  )
})

test('no message of a rejection quotes a key', () => {
  const secret = keyOf('x', 31).slice(2)
  for (const text of [
    secret,
    `k 1:${secret}`,
    `k1:${secret}A`,
    `k1:${secret}:k2`,
    `k1:${secret}=`,
    `k1:${secret},k1:${secret}`,
  ]) {
    const problem = problemOf(text) ?? assert.fail(text)
    assert.ok(!problem.includes(secret.slice(0, 8)), problem)
  }
})
