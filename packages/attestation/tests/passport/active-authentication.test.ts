import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { der, createPassportChip } from '@bonded/simulator'
import {
  type ActiveAuthenticationInput,
  verifyActiveAuthentication,
} from '../../src/passport/active-authentication.ts'

const { element, integer, nothing, oid, sequence, setOf } = der

const CHALLENGE = Buffer.from('a1b2c3d4e5f60718', 'hex')
const ACTIVE_AUTHENTICATION = '2.23.136.1.1.5'
const PLAIN_ECDSA_SHA256 = '0.4.0.127.0.7.1.1.4.1.3'

const [chip, other] = [createPassportChip({ kind: 'ecdsa' }), createPassportChip({ kind: 'ecdsa' })]
const rsa = createPassportChip({ kind: 'rsa', rsaBits: 1024 })
/** Also with what the state has not listed. */
type Proof = {
  readonly [Part in keyof ActiveAuthenticationInput]: ActiveAuthenticationInput[Part] | undefined
} & Pick<ActiveAuthenticationInput, 'challenge'>
const HONEST: Proof = {
  dg14: chip.dg14,
  dg15: chip.dg15,
  challenge: CHALLENGE,
  signature: chip.response(CHALLENGE),
}
const HONEST_RSA: Proof = {
  dg15: rsa.dg15,
  challenge: CHALLENGE,
  signature: rsa.response(CHALLENGE),
}
const short = ({ dg14, dg15, challenge, signature }: Proof) => {
  const checked = verifyActiveAuthentication({
    ...(dg14 && { dg14 }),
    ...(dg15 && { dg15 }),
    challenge,
    signature,
  })
  return checked.ok ? checked.value : checked.step
}

const info = (algorithm: string, version = 1, type = ACTIVE_AUTHENTICATION) =>
  sequence(oid(type), integer(version), oid(algorithm))
const INFO = info(PLAIN_ECDSA_SHA256)
const dg14 = (...infos: readonly Buffer[]) => ({ ...HONEST, dg14: element(0x6e, setOf(...infos)) })
const dg15 = (key: KeyObject, dg14 = HONEST.dg14) => ({
  ...HONEST,
  dg14,
  dg15: element(0x6f, key.export({ format: 'der', type: 'spki' })),
})
/**
 * Public keys of these sizes without a known private half. The tests check only whether the
 * verifier accepts the key.
 */
const rsaKey = (bits: number, e = Buffer.from('010001', 'hex')) => {
  const n = randomBytes(bits / 8)
  n[0] = (n[0] ?? 0) | 0x80
  n[n.length - 1] = (n.at(-1) ?? 0) | 1
  return createPublicKey({
    key: { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') },
    format: 'jwk',
  })
}
const keyOf = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey

const CASES: readonly (readonly [string, Proof, string])[] = [
  ['the answer of the chip whose key the state has listed', HONEST, 'original'],
  ['the same with RSA', HONEST_RSA, 'original'],
  ['no answer', { ...HONEST, signature: undefined }, 'aa_not_sent'],
  ['no key that the state has listed', { ...HONEST, dg15: undefined }, 'dg15_not_listed'],
  [
    'the answer of another chip',
    { ...HONEST, signature: other.response(CHALLENGE) },
    'aa_signature',
  ],
  [
    'an answer to another challenge',
    { ...HONEST, signature: chip.response(Buffer.alloc(8)) },
    'aa_signature',
  ],
  [
    'an answer to the challenge with something after it',
    { ...HONEST, signature: chip.response(Buffer.concat([CHALLENGE, CHALLENGE])) },
    'aa_signature',
  ],
  [
    'an answer with another digest than DG14 names',
    dg14(info('0.4.0.127.0.7.1.1.4.1.4')),
    'aa_signature',
  ],
  [
    'the answer of another chip, RSA',
    {
      ...HONEST_RSA,
      signature: createPassportChip({ kind: 'rsa', rsaBits: 1024 }).response(CHALLENGE),
    },
    'aa_signature',
  ],
  [
    'an answer to another challenge, RSA',
    { ...HONEST_RSA, signature: rsa.response(Buffer.alloc(8)) },
    'aa_signature',
  ],

  // DG14: it says how the chip signs, once.
  ['no DG14 that the state has listed', { ...HONEST, dg14: undefined }, 'dg14_not_listed'],
  [
    'other security infos beside the chip’s',
    dg14(info('1.2.3.4', 7, '2.23.136.1.1.6'), INFO),
    'original',
  ],
  [
    'no word of the chip’s own key',
    dg14(info(PLAIN_ECDSA_SHA256, 1, '2.23.136.1.1.6')),
    'aa_algorithm',
  ],
  [
    'two words of it, of which one would do',
    dg14(INFO, info('0.4.0.127.0.7.1.1.4.1.1')),
    'aa_algorithm',
  ],
  ['another version of it', dg14(info(PLAIN_ECDSA_SHA256, 2)), 'aa_algorithm'],
  ['an unknown algorithm', dg14(info('1.2.3.4')), 'aa_algorithm'],
  ['an algorithm that is not the chip’s', dg14(info('1.2.840.10045.4.3.2')), 'aa_algorithm'],
  ['an RSA algorithm', dg14(info('1.2.840.113549.1.1.11')), 'aa_algorithm'],
  [
    'DG14 under another file’s tag',
    { ...HONEST, dg14: element(0x6d, setOf(INFO)) },
    'aa_algorithm',
  ],
  [
    'DG14 with something after it',
    { ...HONEST, dg14: Buffer.concat([HONEST.dg14 ?? INFO, nothing()]) },
    'aa_algorithm',
  ],

  // DG15: kinds of key that chips have, and that do not take long.
  [
    'DG15 under another file’s tag',
    { ...HONEST, dg15: element(0x6d, chip.dg15.subarray(2)) },
    'dg15',
  ],
  [
    'DG15 with something after it',
    { ...HONEST, dg15: Buffer.concat([chip.dg15, nothing()]) },
    'dg15',
  ],
  ['DG15 that holds no key', { ...HONEST, dg15: element(0x6f, sequence()) }, 'dg15'],
  ['a curve that no passport has', dg15(keyOf('secp256k1')), 'dg15'],
  ['an Edwards curve', dg15(generateKeyPairSync('ed25519').publicKey), 'dg15'],
  ['RSA with 1016 bits', dg15(rsaKey(1_016)), 'dg15'],
  ['RSA with 1024 bits', dg15(rsaKey(1_024)), 'aa_signature'],
  ['RSA with 8192 bits', dg15(rsaKey(8_192)), 'aa_signature'],
  ['RSA with 8200 bits', dg15(rsaKey(8_200)), 'dg15'],
  [
    'RSA with an exponent of 40 bits',
    dg15(rsaKey(1_024, Buffer.from('8000000001', 'hex'))),
    'dg15',
  ],
  [
    'an RSA key that is bound to another scheme',
    dg15(generateKeyPairSync('rsa-pss', { modulusLength: 1024 }).publicKey),
    'aa_algorithm',
  ],
]

for (const [what, proof, expected] of CASES)
  test(`Active Authentication with ${what}: ${expected}`, () =>
    assert.equal(short(proof), expected))
