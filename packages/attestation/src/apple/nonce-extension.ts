import { onlyOf, readExplicit, readOctets, readSequence } from '../asn1/values.ts'
import { type Extended, extensionOf } from '../x509/extensions.ts'

const NONCE = '1.2.840.113635.100.8.2'

/** Returns the nonce in the key's certificate: exactly SEQUENCE { [1] { OCTET STRING } }. */
export function nonceOf(leaf: Extended): Buffer | undefined {
  return extensionOf(leaf, NONCE, (value) =>
    readOctets(readExplicit(onlyOf(readSequence(value)), 1)),
  )
}
