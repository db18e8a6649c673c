import { onlyOf, readExplicit, readOctets, readSequence } from '../der/values.ts'
import { type Extended, extensionOf } from '../x509/extensions.ts'

const NONCE = '1.2.840.113635.100.8.2'

/** What the key's certificate vouches for: SEQUENCE { [1] { OCTET STRING } }, and nothing beside it. */
export function nonceOf(leaf: Extended): Buffer | undefined {
  return extensionOf(leaf, NONCE, (value) =>
    readOctets(readExplicit(onlyOf(readSequence(value)), 1)),
  )
}
