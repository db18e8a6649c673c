import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { der } from '@bonded/simulator'
import { childrenOf, readTlv, TAG } from '../../src/asn1/tlv.ts'
import { readSequence } from '../../src/asn1/values.ts'
import { readPassportKey } from '../../src/passport/public-key.ts'

const { integer, octets, oid, sequence } = der

const CURVES = [
  'prime192v1',
  'secp224r1',
  'prime256v1',
  'secp384r1',
  'secp521r1',
  ...[160, 192, 224, 256, 320, 384, 512].map((bits) => `brainpoolP${bits}r1`),
]
type ParamEncoding = 'named' | 'explicit'

function spkiOn(namedCurve: string, paramEncoding: ParamEncoding): Buffer {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve, paramEncoding })
  return publicKey.export({ format: 'der', type: 'spki' })
}

test('reads a key on each curve of passports, by name and by its numbers', () => {
  for (const name of CURVES)
    for (const encoding of ['named', 'explicit'] as const) {
      const spki = spkiOn(name, encoding)
      const key = readPassportKey(spki)
      assert.ok(key?.kind === 'ec' && key.key !== undefined, `${name} ${encoding}`)
      assert.equal(key.curve.name, name)
      assert.equal(key.key.asymmetricKeyDetails?.namedCurve, name)
      // The key that is used is named, so the numbers never reach the parser of the runtime.
      assert.equal(
        key.key
          .export({ format: 'der', type: 'spki' })
          .includes(Buffer.from('2a8648ce3d0101', 'hex')),
        false,
      )
    }
})

/** The parameters of a P-256 key with explicit numbers, after a change of one field. */
function withNumbers(change: (fields: Buffer[]) => Buffer[]): Buffer {
  const [algorithm, bits] = readSequence(readTlv(spkiOn('prime256v1', 'explicit')))
  const [id, parameters] = readSequence(algorithm)
  const fields = childrenOf(parameters, TAG.sequence).map(({ whole }) => whole)
  return sequence(
    sequence(id?.whole ?? oid('1.2'), sequence(...change(fields))),
    bits?.whole ?? Buffer.alloc(0),
  )
}

const GENERATOR = 3
const COFACTOR = 5
const X = '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296'
const explicit = (change: (fields: Buffer[]) => Buffer[]) => readPassportKey(withNumbers(change))

test('reads a generator in compressed form, and parameters without a cofactor', () => {
  assert.ok(explicit((fields) => fields))
  assert.ok(explicit((fields) => fields.with(GENERATOR, octets(Buffer.from(`03${X}`, 'hex')))))
  assert.ok(explicit((fields) => fields.slice(0, COFACTOR)))
})

test('rejects explicit numbers that are not those of a named curve', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const own = Buffer.concat([
    Buffer.of(4),
    Buffer.from(x, 'base64url'),
    Buffer.from(y, 'base64url'),
  ])
  // An attacker who chooses the generator knows the private half of any public key.
  assert.equal(
    explicit((fields) => fields.with(GENERATOR, octets(own))),
    undefined,
  )
  assert.equal(
    explicit((fields) => fields.with(GENERATOR, octets(Buffer.from(`02${X}`, 'hex')))),
    undefined,
  )
  assert.equal(
    explicit((fields) => fields.with(COFACTOR, integer(2))),
    undefined,
  )
  for (const field of [1, 2, 4])
    assert.equal(
      explicit((fields) => fields.with(field, sequence(integer(7)))),
      undefined,
    )
  assert.equal(
    explicit(() => []),
    undefined,
  )
})

test('rejects a key whose point is not on the curve, and other curves', () => {
  const spki = Buffer.from(spkiOn('brainpoolP256r1', 'named'))
  spki.writeUInt8(spki.readUInt8(spki.length - 1) ^ 1, spki.length - 1)
  assert.equal(readPassportKey(spki), undefined)
  assert.equal(readPassportKey(spkiOn('secp256k1', 'named')), undefined)
  assert.equal(readPassportKey(spkiOn('secp256k1', 'explicit')), undefined)
  assert.equal(readPassportKey(spkiOn('brainpoolP256t1', 'explicit')), undefined)
})
