import { childrenOf, readElement, TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import type { Certificate } from './certificate.ts'

const NONCE = oid('1.2.840.113635.100.8.2').toString('hex')

/** What the key's certificate vouches for: SEQUENCE { [1] { OCTET STRING } }, and nothing beside it. */
export function nonceOf(leaf: Certificate): Buffer | undefined {
  const extension = leaf.extensions.get(NONCE)
  const [tagged, ...afterTagged] = childrenOf(extension && readElement(extension.value), TAG.sequence) ?? []
  const [octets, ...afterOctets] = childrenOf(tagged, TAG.context(1)) ?? []
  if (octets?.tag !== TAG.octetString || afterTagged.length > 0 || afterOctets.length > 0) return undefined
  return octets.content
}
