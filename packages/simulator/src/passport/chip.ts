import {
  constants,
  generateKeyPairSync,
  hash,
  type KeyObject,
  privateEncrypt,
  randomBytes,
  sign,
} from 'node:crypto'
import { element, integer, oid, sequence, setOf } from '../test-pki/der.ts'
import { DIGEST_BYTES, type PassportDigest, PLAIN_ECDSA } from './signer.ts'

/** The key of a chip for Active Authentication, and the data groups that describe it. */
export interface PassportChip {
  readonly dg14: Buffer | undefined
  readonly dg15: Buffer
  /** Signs the challenge of a reader. */
  response(challenge: Uint8Array): Buffer
}

export type PassportChipOptions =
  | { readonly kind: 'rsa'; readonly digest?: PassportDigest; readonly rsaBits?: number }
  | ({ readonly kind: 'ecdsa' } & EcdsaOptions)

interface EcdsaOptions {
  readonly digest?: PassportDigest
  readonly curve?: string
  /** Encoding of the signature. By default r and s are concatenated. */
  readonly dsaEncoding?: 'ieee-p1363' | 'der'
}

/** Creates a chip. */
export function createPassportChip(options: PassportChipOptions): PassportChip {
  return options.kind === 'rsa' ? rsaChip(options) : ecdsaChip(options)
}

const TRAILER = {
  sha1: Buffer.of(0xbc),
  sha224: Buffer.of(0x38, 0xcc),
  sha256: Buffer.of(0x34, 0xcc),
  sha384: Buffer.of(0x36, 0xcc),
  sha512: Buffer.of(0x35, 0xcc),
} as const

/**
 * ISO/IEC 9796-2, scheme 1: random bytes of the chip that fill the block, then the digest of these
 * bytes and the challenge.
 */
function rsaChip({
  digest = 'sha256',
  rsaBits = 2048,
}: {
  readonly digest?: PassportDigest
  readonly rsaBits?: number
}): PassportChip {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: rsaBits })
  const trailer = TRAILER[digest]
  return {
    dg14: undefined,
    dg15: dg15Of(publicKey),
    response(challenge) {
      const own = randomBytes(rsaBits / 8 - 1 - DIGEST_BYTES[digest] - trailer.length)
      const block = Buffer.concat([
        Buffer.of(0x6a),
        own,
        hash(digest, Buffer.concat([own, challenge]), 'buffer'),
        trailer,
      ])
      return privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, block)
    },
  }
}

function ecdsaChip({
  digest = 'sha256',
  curve = 'brainpoolP256r1',
  dsaEncoding = 'ieee-p1363',
}: EcdsaOptions): PassportChip {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: curve })
  const info = sequence(
    oid('2.23.136.1.1.5'),
    integer(1),
    oid(`0.4.0.127.0.7.1.1.4.1.${PLAIN_ECDSA[digest]}`),
  )
  return {
    dg14: element(0x6e, setOf(info)),
    dg15: dg15Of(publicKey),
    response: (challenge) => sign(digest, challenge, { key: privateKey, dsaEncoding }),
  }
}

function dg15Of(key: KeyObject): Buffer {
  return element(0x6f, key.export({ format: 'der', type: 'spki' }))
}
