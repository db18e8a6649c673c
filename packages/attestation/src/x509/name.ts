import { type Tlv, Malformed, TAG } from '../asn1/tlv.ts'
import { readOid, readSequence, readSetOf } from '../asn1/values.ts'

/** The name of a certificate's subject or issuer. */
export interface Name {
  /** As it came. Links of a phone's chain are compared byte for byte. */
  readonly encoded: Buffer
  /**
   * Equal for names that RFC 5280, section 7.1, calls equal: without case, and without spaces that carry nothing.
   * States write the issuer in other string types and cases than the issuer its own name.
   */
  readonly canonical: string
  /** By object identifier. Of several of one kind, the last. */
  readonly attributes: ReadonlyMap<string, string>
}

export const ATTRIBUTE = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  organization: '2.5.4.10',
  unit: '2.5.4.11',
} as const

/** @throws {Malformed} */
export function readName(tlv: Tlv | undefined): Name {
  const parts = readSequence(tlv).map((part) => readSetOf(part).map(attributeOf))
  if (tlv === undefined || parts.some((part) => part.length === 0)) throw new Malformed('name')
  return {
    encoded: tlv.whole,
    canonical: JSON.stringify(
      parts.map((part) => part.map(([type, text]) => `${type}=${folded(text)}`).sort()),
    ),
    attributes: new Map(parts.flat()),
  }
}

function attributeOf(tlv: Tlv): readonly [type: string, text: string] {
  const [type, value, ...more] = readSequence(tlv)
  if (value === undefined || more.length > 0) throw new Malformed('attribute')
  return [readOid(type), textOf(value)]
}

function textOf({ tag, content }: Tlv): string {
  return tag === TAG.bmpString && content.length % 2 === 0
    ? Buffer.from(content).swap16().toString('utf16le')
    : content.toString('utf8')
}

function folded(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').toLowerCase()
}
