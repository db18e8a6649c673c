import { createPublicKey, type KeyObject } from 'node:crypto'
import { TAG } from '../der/element.ts'
import { readBer, sequence } from './ber.ts'

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
export function readPublicKey(spki: Buffer): KeyObject | undefined {
  const key = open(spki)
  const { namedCurve, modulusLength = 0, publicExponent = 0n } = key?.asymmetricKeyDetails ?? {}
  if (key?.asymmetricKeyType === 'ec') return CURVES.includes(namedCurve ?? '') ? key : undefined
  const isRsa = key?.asymmetricKeyType === 'rsa' || key?.asymmetricKeyType === 'rsa-pss'
  return isRsa && modulusLength >= RSA_BITS.min && modulusLength <= RSA_BITS.max && publicExponent <= MAX_RSA_EXPONENT ? key : undefined
}

/**
 * The same RSA key, bound to RSASSA-PSS with these parameters. Node takes no digest for the mask on its own; from the
 * key's own parameters OpenSSL reads all of them, and holds the signature to them.
 */
export function boundToPss(spki: Buffer, parameters: Buffer): KeyObject | undefined {
  const [, bits] = sequence(readBer(spki))
  if (bits?.tag !== TAG.bitString) return undefined
  return readPublicKey(wrap(Buffer.concat([wrap(Buffer.concat([RSA_PSS, parameters])), bits.whole])))
}

function wrap(content: Buffer): Buffer {
  const head = Buffer.from([TAG.sequence, 0x82, 0, 0])
  head.writeUInt16BE(content.length, 2)
  return Buffer.concat(
    content.length < 0x80
      ? [Buffer.of(TAG.sequence, content.length), content]
      : content.length < 0x100
        ? [Buffer.of(TAG.sequence, 0x81, content.length), content]
        : [head, content],
  )
}

function open(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}
