import type { KeyObject } from 'node:crypto'
import { type Tlv, readTlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readSequence } from '../asn1/values.ts'
import { writeTlv } from '../asn1/write.ts'
import { readPublicKey } from '../x509/public-key.ts'

/** The curves of Doc 9303-12 and BSI TR-03116-2, also where a key spells one out: others can be made to take very long. */
const CURVES: readonly string[] = [
  'prime192v1',
  'secp224r1',
  'prime256v1',
  'secp384r1',
  'secp521r1',
  ...[160, 192, 224, 256, 320, 384, 512].map((bits) => `brainpoolP${bits}r1`),
]
/** Chips in use sign with 1024; the largest state uses 6144. */
const RSA_BITS = { min: 1024, max: 8192 } as const
/** All that are recorded use 65537 or 3. */
const MAX_RSA_EXPONENT = 0xff_ff_ff_ffn
const RSA_PSS = Buffer.from('06092a864886f70d01010a', 'hex')

/** A public key from SPKI; undefined for a kind that no passport has. */
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
 * The same RSA key, bound to RSASSA-PSS with these parameters. Node takes no digest for the mask on its own; from the
 * key's own parameters OpenSSL reads all of them, and holds the signature to them.
 */
export function bindToPss(spki: Buffer, parameters: Tlv): KeyObject | undefined {
  const [, bits] = unlessMalformed(() => readSequence(readTlv(spki, 'ber'))) ?? []
  if (bits?.tag !== TAG.bitString) return undefined
  const algorithm = writeTlv(TAG.sequence, RSA_PSS, parameters.whole)
  return passportKey(writeTlv(TAG.sequence, algorithm, bits.whole))
}
