import { type Tlv, Malformed, TAG } from '../asn1/tlv.ts'
import { readOid, readSequence, readSetOf } from '../asn1/values.ts'

/** The name of a certificate's subject or issuer. */
export interface Name {
  /** The DER or BER bytes. Chains of phones are compared byte by byte. */
  readonly encoded: Buffer
  /**
   * Equal for names that match by RFC 5280, section 7.1: case and insignificant spaces are ignored.
   * Some states write the issuer name with another string type or case than in its own certificate.
   */
  readonly canonical: string
  /** Attribute values by object identifier. If one occurs several times, the last value. */
  readonly attributes: ReadonlyMap<string, string>
}

export const ATTRIBUTE = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  organization: '2.5.4.10',
  unit: '2.5.4.11',
} as const

/** @throws {Malformed} for an absent name, and for an empty relative name */
export function readName(tlv: Tlv | undefined): Name {
  const relativeNames = readSequence(tlv).map((name) => readSetOf(name).map(attributeOf))
  if (tlv === undefined || relativeNames.some((name) => name.length === 0))
    throw new Malformed('name')
  return {
    encoded: tlv.whole,
    canonical: JSON.stringify(
      relativeNames.map((name) => name.map(([type, text]) => `${type}=${fold(text)}`).sort()),
    ),
    attributes: new Map(relativeNames.flat()),
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

function fold(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').toLowerCase()
}
