import type { KeyObject } from 'node:crypto'
import { type Tlv, readTlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readSequence } from '../asn1/values.ts'
import { writeTlv } from '../asn1/write.ts'
import { readPublicKey } from '../x509/public-key.ts'

/**
 * The curves of Doc 9303-12 and BSI TR-03116-2, by name or with explicit parameters. Verification
 * on other explicit curves can be made very slow.
 */
const CURVES: readonly string[] = [
  'prime192v1',
  'secp224r1',
  'prime256v1',
  'secp384r1',
  'secp521r1',
  ...[160, 192, 224, 256, 320, 384, 512].map((bits) => `brainpoolP${bits}r1`),
]
/** Chips in use have keys of 1024 bits; the largest key of a state has 6144. */
const RSA_BITS = { min: 1024, max: 8192 } as const
/** All recorded keys use 65537 or 3. */
const MAX_RSA_EXPONENT = 0xff_ff_ff_ffn
const RSA_PSS = Buffer.from('06092a864886f70d01010a', 'hex')

/** Reads an SPKI public key. Undefined for kinds and sizes that passports do not use. */
export function passportKey(spki: Buffer): KeyObject | undefined {
  const key = readPublicKey(spki)
  const { namedCurve, modulusLength = 0, publicExponent = 0n } = key?.asymmetricKeyDetails ?? {}
  if (key?.asymmetricKeyType === 'ec') return CURVES.includes(namedCurve ?? '') ? key : undefined
  const isRsa = key?.asymmetricKeyType === 'rsa' || key?.asymmetricKeyType === 'rsa-pss'
  return isRsa &&
    modulusLength >= RSA_BITS.min &&
    modulusLength <= RSA_BITS.max &&
    publicExponent <= MAX_RSA_EXPONENT
    ? key
    : undefined
}

/**
 * Restricts an RSA key to RSASSA-PSS with these parameters. Node has no option for the digest of
 * the mask. OpenSSL reads all parameters from the key and enforces them.
 */
export function bindToPss(spki: Buffer, parameters: Tlv): KeyObject | undefined {
  const [, bits] = unlessMalformed(() => readSequence(readTlv(spki, 'ber'))) ?? []
  if (bits?.tag !== TAG.bitString) return undefined
  const algorithm = writeTlv(TAG.sequence, RSA_PSS, parameters.whole)
  return passportKey(writeTlv(TAG.sequence, algorithm, bits.whole))
}
