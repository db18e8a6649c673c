import type { KeyObject } from 'node:crypto'
import { type Tlv, readTlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readInteger, readOid, readSequence } from '../asn1/values.ts'
import { writeTlv } from '../asn1/write.ts'
import { readPublicKey } from '../x509/public-key.ts'
import { type Curve, curveOf } from './curves.ts'

/** A key of a state or of a chip. `key` is undefined where the runtime cannot load such keys. */
export type PassportKey = EcKey | RsaKey

export interface EcKey {
  readonly kind: 'ec'
  readonly curve: Curve
  /** X9.62. */
  readonly point: Buffer
  readonly key: KeyObject | undefined
}

export interface RsaKey {
  readonly kind: 'rsa'
  /** The BIT STRING of the key, whole. */
  readonly bits: Buffer
  /** Whether its owner has bound it to RSASSA-PSS. */
  readonly pssOnly: boolean
  readonly key: KeyObject | undefined
}

const EC = '1.2.840.10045.2.1'
const RSA = '1.2.840.113549.1.1.1'
const RSA_PSS = '1.2.840.113549.1.1.10'
const EC_ID = Buffer.from('06072a8648ce3d0201', 'hex')
const RSA_ID = Buffer.from('06092a864886f70d010101', 'hex')
const RSA_PSS_ID = Buffer.from('06092a864886f70d01010a', 'hex')
const NULL = Buffer.of(TAG.null, 0)

/** Chips in use have keys of 1024 bits; the largest key of a state has 6144. */
const RSA_BITS = { min: 1024, max: 8192 } as const
/** All recorded keys use 65537 or 3. */
const MAX_RSA_EXPONENT = 0xff_ff_ff_ffn

/**
 * Reads an SPKI public key. Undefined for a malformed one, and for kinds and sizes that passports
 * do not use.
 *
 * The key is encoded anew, with the name of its curve or as a plain RSA key: runtimes differ in the
 * encodings that they load, and explicit curve parameters never reach their parser.
 */
export function readPassportKey(spki: Buffer): PassportKey | undefined {
  return unlessMalformed(() => {
    const [algorithm, bits, ...more] = readSequence(readTlv(spki, 'ber'))
    const [id, parameters] = readSequence(algorithm)
    if (bits?.tag !== TAG.bitString || bits.content[0] !== 0 || more.length > 0) return undefined
    switch (readOid(id)) {
      case EC:
        return ecKey(bits, parameters)
      case RSA:
        return rsaKey(bits, false)
      case RSA_PSS:
        return rsaKey(bits, true)
      default:
        return undefined
    }
  })
}

function ecKey(bits: Tlv, parameters: Tlv | undefined): EcKey | undefined {
  const curve = curveOf(parameters)
  if (curve === undefined) return undefined
  const point = bits.content.subarray(1)
  const key = readPublicKey(ecSpki(curve, point))
  // Where the generator can be loaded, the runtime has the curve, and the point is not on it.
  return key === undefined && hasCurve(curve) ? undefined : { kind: 'ec', curve, point, key }
}

function rsaKey(bits: Tlv, pssOnly: boolean): RsaKey | undefined {
  const [modulus, exponent, ...more] = readSequence(readTlv(bits.content.subarray(1), 'ber'))
  const [n, e] = [readInteger(modulus), readInteger(exponent)]
  const bitLength = n.toString(2).length
  return more.length === 0 &&
    bitLength >= RSA_BITS.min &&
    bitLength <= RSA_BITS.max &&
    n % 2n === 1n &&
    e % 2n === 1n &&
    e > 1n &&
    e <= MAX_RSA_EXPONENT
    ? { kind: 'rsa', bits: bits.whole, pssOnly, key: loadRsa(bits.whole, RSA_ID, NULL) }
    : undefined
}

/**
 * Restricts an RSA key to RSASSA-PSS with these parameters. Node has no option for the digest of
 * the mask. OpenSSL reads all parameters from the key and enforces them.
 */
export function bindToPss({ bits }: RsaKey, parameters: Tlv): KeyObject | undefined {
  return loadRsa(bits, RSA_PSS_ID, parameters.whole)
}

function loadRsa(bits: Buffer, id: Buffer, parameters: Buffer): KeyObject | undefined {
  return readPublicKey(writeTlv(TAG.sequence, writeTlv(TAG.sequence, id, parameters), bits))
}

function ecSpki({ id }: Curve, point: Buffer): Buffer {
  const algorithm = writeTlv(TAG.sequence, EC_ID, Buffer.from(id, 'hex'))
  return writeTlv(TAG.sequence, algorithm, writeTlv(TAG.bitString, Buffer.of(0), point))
}

const known = new Map<Curve, boolean>()

/** Whether the runtime can load keys on the curve. */
function hasCurve(curve: Curve): boolean {
  const has =
    known.get(curve) ?? readPublicKey(ecSpki(curve, Buffer.from(curve.g, 'hex'))) !== undefined
  known.set(curve, has)
  return has
}
