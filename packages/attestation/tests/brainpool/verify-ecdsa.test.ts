import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { readTlv } from '../../src/asn1/tlv.ts'
import { readInteger, readSequence } from '../../src/asn1/values.ts'
import { verifyEcdsaInJavaScript } from '../../src/brainpool/verify-ecdsa.ts'
import type { EcdsaSignature } from '../../src/passport/ecdsa.ts'
import { readPassportKey } from '../../src/passport/public-key.ts'

const CURVES = [
  'prime192v1',
  'secp224r1',
  'prime256v1',
  'secp384r1',
  'secp521r1',
  ...[160, 192, 224, 256, 320, 384, 512].map((bits) => `brainpoolP${bits}r1`),
]
const MESSAGE = Buffer.from('signed attributes')

/** A signature by Node's key, in the form that the verifier is given. */
function signatureOn(namedCurve: string, digest: string): EcdsaSignature {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  const key = readPassportKey(publicKey.export({ format: 'der', type: 'spki' }))
  assert.ok(key?.kind === 'ec')
  const [r, s] = readSequence(readTlv(sign(digest, MESSAGE, privateKey)))
  const { curve, point } = key
  const hash = createHash(digest).update(MESSAGE).digest()
  return { curve, point, digest: hash, r: readInteger(r), s: readInteger(s) }
}

for (const curve of CURVES)
  test(`verifies what Node signed on ${curve}, with each digest, and rejects other numbers`, () => {
    for (const digest of ['sha1', 'sha224', 'sha256', 'sha384', 'sha512']) {
      const signature = signatureOn(curve, digest)
      assert.equal(verifyEcdsaInJavaScript(signature), true, digest)
      const order = BigInt(`0x${signature.curve.n}`)
      // The other root of the same equation: ECDSA accepts both.
      assert.equal(verifyEcdsaInJavaScript({ ...signature, s: order - signature.s }), true)
      const other = signatureOn(curve, digest)
      for (const wrong of [
        { r: 0n },
        { s: 0n },
        { r: order },
        { s: order },
        { r: -signature.r },
        { r: signature.r + order },
        { r: signature.s, s: signature.r },
        { r: other.r },
        { point: other.point },
        { digest: Buffer.alloc(signature.digest.length, 1) },
      ])
        assert.equal(verifyEcdsaInJavaScript({ ...signature, ...wrong }), false, digest)
    }
  })

test('throws for a point that is not on the curve', () => {
  const signature = signatureOn('brainpoolP256r1', 'sha256')
  const point = Buffer.from(signature.point)
  point[point.length - 1] = (point.at(-1) ?? 0) ^ 1
  assert.throws(() => verifyEcdsaInJavaScript({ ...signature, point }))
  for (const infinity of [Buffer.of(0), Buffer.alloc(65, 0), Buffer.alloc(0)])
    assert.throws(() => verifyEcdsaInJavaScript({ ...signature, point: infinity }))
})
