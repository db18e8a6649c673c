import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import type { AndroidKeyAlgorithm } from '../../src/android/key-algorithms.ts'
import { AUTHORITY, describe, newKey, register, TRUSTED } from './chains.ts'
import { honestTags, without } from './descriptions.ts'

const { integer, setOf } = der

const rsa = (modulusLength = 2048) => generateKeyPairSync('rsa', { modulusLength }).publicKey
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey
/** Tags: 2 algorithm, 3 size, 5 digests, 6 paddings, 10 curve. */
const ecTags = (curve: number, bits: number, digest: number) => ({
  2: integer(3),
  3: integer(bits),
  5: setOf(integer(digest)),
  10: integer(curve),
})
const rsaTags = (bits: number, ...paddings: readonly number[]) => ({
  2: integer(1),
  3: integer(bits),
  6: setOf(...paddings.map((padding) => integer(padding))),
})

/** The algorithms, or the step that rejected the key. */
async function verdictOn(
  key: KeyObject,
  tags: Parameters<typeof describe>[1],
  keyAlgorithms: readonly AndroidKeyAlgorithm[] | undefined,
) {
  const hardware = { ...without(honestTags.hardwareEnforced, 10), ...tags }
  const chain = AUTHORITY.attest(key, describe({ hardwareEnforced: hardware }))
  const result = await register(chain, { ...TRUSTED, ...(keyAlgorithms && { keyAlgorithms }) })
  return result.ok ? result.value.keyAlgorithms.join(' ') : result.step
}

const ALL: readonly AndroidKeyAlgorithm[] = ['ES256', 'ES384', 'ES512', 'RS256', 'PS256']

test('accepts only ES256 without a policy for algorithms', async () => {
  assert.equal(await verdictOn(newKey().publicKey, ecTags(1, 256, 4), undefined), 'ES256')
  assert.equal(await verdictOn(ec('P-384'), ecTags(2, 384, 5), undefined), 'key_algorithm')
  assert.equal(await verdictOn(rsa(), rsaTags(2048, 5), undefined), 'key_algorithm')
})

test('accepts each algorithm that the policy names, and no other one', async () => {
  const keys: readonly (readonly [
    AndroidKeyAlgorithm,
    KeyObject,
    Parameters<typeof describe>[1],
  ])[] = [
    ['ES256', ec('P-256'), ecTags(1, 256, 4)],
    ['ES384', ec('P-384'), ecTags(2, 384, 5)],
    ['ES512', ec('P-521'), ecTags(3, 521, 6)],
    ['RS256', rsa(), rsaTags(2048, 5)],
    ['PS256', rsa(), rsaTags(2048, 3)],
  ]
  for (const [name, key, tags] of keys) {
    assert.equal(await verdictOn(key, tags, ALL), name)
    assert.equal(await verdictOn(key, tags, [name]), name)
    const others = ALL.filter((other) => other !== name)
    assert.match(await verdictOn(key, tags, others), /^(?:key_algorithm|digest)$/, name)
  }
})

test('returns every algorithm of the policy that the hardware permits for an RSA key', async () => {
  assert.equal(await verdictOn(rsa(), rsaTags(2048, 3, 5), ALL), 'RS256 PS256')
})

test('rejects a digest or padding that the hardware does not permit', async () => {
  assert.equal(await verdictOn(ec('P-384'), ecTags(2, 384, 4), ALL), 'digest')
  assert.equal(await verdictOn(rsa(), rsaTags(2048, 2), ALL), 'digest')
})

test('rejects a key that is not of the described kind', async () => {
  assert.equal(await verdictOn(ec('P-384'), ecTags(1, 256, 4), ALL), 'key_algorithm')
  assert.equal(await verdictOn(rsa(), ecTags(1, 256, 4), ALL), 'key_algorithm')
  assert.equal(await verdictOn(ec('P-256'), rsaTags(2048, 5), ALL), 'key_algorithm')
})

test('rejects an RSA key below 2048 bits, and one that is only described as longer', async () => {
  const short = rsa(1024)
  assert.equal(await verdictOn(short, rsaTags(1024, 5), ALL), 'key_algorithm')
  assert.equal(await verdictOn(short, rsaTags(2048, 5), ALL), 'key_algorithm')
})
