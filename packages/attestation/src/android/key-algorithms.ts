import type { KeyObject } from 'node:crypto'
import type { AuthorizationList } from './authorization-list.ts'

/** A signature algorithm by its JOSE name (RFC 7518): a kind of key with a digest and a padding. */
export type AndroidKeyAlgorithm = 'ES256' | 'ES384' | 'ES512' | 'RS256' | 'PS256'

// Values from Android's KeyMint AIDL files (Algorithm.aidl, EcCurve.aidl and others).
const RSA = 1n
const EC = 3n
const SHA_256 = 4n
const PSS_PADDING = 3n
const PKCS1_PADDING = 5n
/** NIST SP 800-131A requires 2048 bits, and OpenSSL reads up to 16384. */
const MIN_RSA_BITS = 2048n

interface EcAlgorithm {
  readonly curve: bigint
  readonly bits: bigint
  readonly digest: bigint
  readonly namedCurve: string
}
interface RsaAlgorithm {
  readonly padding: bigint
  readonly digest: bigint
}

const ALGORITHMS: Readonly<Record<AndroidKeyAlgorithm, EcAlgorithm | RsaAlgorithm>> = {
  ES256: { curve: 1n, bits: 256n, digest: SHA_256, namedCurve: 'prime256v1' },
  ES384: { curve: 2n, bits: 384n, digest: 5n, namedCurve: 'secp384r1' },
  ES512: { curve: 3n, bits: 521n, digest: 6n, namedCurve: 'secp521r1' },
  RS256: { padding: PKCS1_PADDING, digest: SHA_256 },
  PS256: { padding: PSS_PADDING, digest: SHA_256 },
}

/** Whether the name is one of the algorithms above. */
export function isKeyAlgorithm(name: unknown): boolean {
  return typeof name === 'string' && Object.hasOwn(ALGORITHMS, name)
}

/**
 * Whether the description is of a key of this kind. A curve or size that old phones leave out is
 * not checked here: the certified key decides.
 */
export function describesKind(list: AuthorizationList, name: AndroidKeyAlgorithm): boolean {
  const wanted = ALGORITHMS[name]
  return 'curve' in wanted
    ? list.algorithms === EC &&
        (list.ecCurve ?? wanted.curve) === wanted.curve &&
        (list.keySize ?? wanted.bits) === wanted.bits
    : list.algorithms === RSA && (list.keySize ?? 0n) >= MIN_RSA_BITS
}

/** Whether the hardware permits the digest of the algorithm, and the padding if it has one. */
export function permitsUse(list: AuthorizationList, name: AndroidKeyAlgorithm): boolean {
  const wanted = ALGORITHMS[name]
  return (
    list.digests?.includes(wanted.digest) === true &&
    ('curve' in wanted || list.paddings?.includes(wanted.padding) === true)
  )
}

/** Whether the certified key is of this kind. */
export function isKeyOfKind(key: KeyObject, name: AndroidKeyAlgorithm): boolean {
  const wanted = ALGORITHMS[name]
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  return 'curve' in wanted
    ? namedCurve === wanted.namedCurve
    : key.asymmetricKeyType === 'rsa' && BigInt(modulusLength) >= MIN_RSA_BITS
}
