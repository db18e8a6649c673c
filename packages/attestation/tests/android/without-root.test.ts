import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { listVectors, readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import { verifyAndroidChain } from '../../src/android/certificate-chain.ts'
import { GOOGLE_ROOT_CERTIFICATES, GOOGLE_ROOTS } from '../../src/android/google-roots.ts'
import { readCertificate } from '../../src/x509/certificate.ts'
import { AUTHORITY, describe, newKey, register } from './chains.ts'
import { certificatesOf, wordOf } from './trust.ts'

const skip = vectorsMissing

/** Recordings under Google's roots. */
const genuine =
  vectorsMissing === false
    ? listVectors('android-key', 'testdata').filter((path) =>
        /^(?:akita|blueline).*\.pem$|FACTORY\.pem$/.test(path),
      )
    : []
/** A time at which all certificates of a recorded chain were valid. */
const timeOf = (chain: readonly Uint8Array[]) =>
  Math.max(...chain.slice(1).map((one) => readCertificate(one)?.notBefore ?? 0))
const chainOf = (path: string) =>
  certificatesOf(readVector('android-key', 'testdata', path).toString())

test('each root certificate of Google has one of the trusted keys', () => {
  const keys = GOOGLE_ROOT_CERTIFICATES.map((pem) =>
    hash('sha256', new X509Certificate(pem).publicKey.export({ format: 'der', type: 'spki' })),
  )
  assert.deepEqual(new Set(keys), GOOGLE_ROOTS)
})

test('verifies a recorded chain without its root as it verifies the chain with it', {
  skip,
}, () => {
  assert.ok(genuine.length >= 11)
  for (const path of genuine) {
    const chain = chainOf(path)
    const complete = verifyAndroidChain(chain, { roots: GOOGLE_ROOTS, now: timeOf(chain) })
    const completed = verifyAndroidChain(chain.slice(0, -1), {
      roots: GOOGLE_ROOTS,
      now: timeOf(chain),
    })
    assert.ok(complete.ok && completed.ok, `${path}: ${wordOf(complete)}, ${wordOf(completed)}`)
    assert.equal(completed.value.root, complete.value.root, path)
    assert.equal(completed.value.certificates.length, chain.length, path)
  }
})

test('rejects a recorded chain without its root, and with a root that does not count', {
  skip,
}, () => {
  for (const path of genuine) {
    const chain = chainOf(path)
    for (const roots of [new Set<string>(), new Set([AUTHORITY.rootKeyDigest])])
      assert.equal(
        wordOf(verifyAndroidChain(chain.slice(0, -1), { roots, now: timeOf(chain) })),
        'root',
      )
    // Google's root did not sign what is left when the authority below it is gone too.
    assert.notEqual(
      wordOf(verifyAndroidChain(chain.slice(0, -2), { roots: GOOGLE_ROOTS, now: timeOf(chain) })),
      'ok',
      path,
    )
  }
})

test('rejects a chain that names a root of Google as its issuer, and that Google did not sign', {
  skip,
}, () => {
  for (const path of genuine) {
    const chain = chainOf(path).slice(0, -1)
    const last = Buffer.from(chain.at(-1) ?? Buffer.alloc(0))
    last.writeUInt8(last.readUInt8(last.length - 1) ^ 1, last.length - 1)
    const forged = [...chain.slice(0, -1), last]
    const step = wordOf(verifyAndroidChain(forged, { roots: GOOGLE_ROOTS, now: timeOf(chain) }))
    assert.equal(step, 'signature', path)
  }
})

test('rejects a chain of an unknown root that leaves the root out', async () => {
  const chain = AUTHORITY.attest(newKey().publicKey, describe())
  assert.equal(wordOf(await register(chain)), 'ok')
  assert.equal(wordOf(await register([...chain.slice(0, -1), ...chain.slice(1, -1)])), 'root')
})
