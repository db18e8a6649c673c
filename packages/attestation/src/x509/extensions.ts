import { type Tlv, type Encoding, Malformed, readTlv, unlessMalformed } from '../asn1/tlv.ts'
import {
  readBoolean,
  readExplicit,
  readFlags,
  readInteger,
  readLenientBoolean,
  readOctets,
  readOid,
  readSequence,
} from '../asn1/values.ts'

/** The extensions of a certificate, by object identifier. */
export type Extensions = ReadonlyMap<string, { readonly critical: boolean; readonly value: Buffer }>

export const EXTENSION = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  basicConstraints: '2.5.29.19',
  certificatePolicies: '2.5.29.32',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

/** @throws {Malformed} for an empty list, and for an extension that occurs twice */
export function readExtensions(field: Tlv | undefined): Extensions {
  const extensions = new Map<string, { critical: boolean; value: Buffer }>()
  if (field === undefined) return extensions
  for (const extension of readSequence(readExplicit(field, 3))) {
    const parts = readSequence(extension)
    const [id, flag] = [
      readOid(parts[0]),
      parts.length === 3 ? readLenientBoolean(parts[1]) : undefined,
    ]
    // Two parsers could pick two different values of a repeated extension. Some vendors write the
    // default FALSE, so it is accepted.
    if (parts.length > 3 || extensions.has(id)) throw new Malformed('extension')
    extensions.set(id, { critical: flag === true, value: readOctets(parts.at(-1)) })
  }
  if (extensions.size === 0) throw new Malformed('no extension')
  return extensions
}

/** A certificate, as far as the functions below read it. */
export interface Extended {
  readonly extensions: Extensions
  readonly encoding: Encoding
}

/** Reads the value of an extension. Undefined if it is absent or malformed. */
export function extensionOf<T>(
  { extensions, encoding }: Extended,
  id: string,
  read: (value: Tlv) => T,
): T | undefined {
  const extension = extensions.get(id)
  return extension && unlessMalformed(() => read(readTlv(extension.value, encoding)))
}

/** Whether the certificate has a critical extension that the caller does not process. */
export function hasUnknownCriticalExtension(
  { extensions }: Extended,
  understood: ReadonlySet<string>,
): boolean {
  return [...extensions].some(([id, { critical }]) => critical && !understood.has(id))
}

/** Bits of KeyUsage. */
export const USAGE = { digitalSignature: 0x80, certificateSigning: 0x04 } as const

/** Returns the key usage bits. Undefined if the extension is absent, 0 if it is malformed. */
export function keyUsageOf(certificate: Extended): number | undefined {
  if (!certificate.extensions.has(EXTENSION.keyUsage)) return undefined
  return extensionOf(certificate, EXTENSION.keyUsage, readFlags) ?? 0
}

/**
 * Returns the path length constraint: the maximum number of authorities below this one, or
 * Infinity. Undefined if the basic constraints do not mark the certificate as an authority.
 */
export function pathLengthOf(certificate: Extended): number | undefined {
  return extensionOf(certificate, EXTENSION.basicConstraints, (constraints) => {
    const [isAuthority, pathLength, ...more] = readSequence(constraints)
    if (more.length > 0 || !readBoolean(isAuthority)) return undefined
    return pathLength === undefined ? Number.POSITIVE_INFINITY : Number(readInteger(pathLength))
  })
}

/** Returns the extended key usages. Undefined if the extension is absent, empty if malformed. */
export function purposesOf(certificate: Extended): readonly string[] | undefined {
  if (!certificate.extensions.has(EXTENSION.extendedKeyUsage)) return undefined
  return (
    extensionOf(certificate, EXTENSION.extendedKeyUsage, (purposes) =>
      readSequence(purposes).map(readOid),
    ) ?? []
  )
}

const KEY_ID = 0x80

/** Returns the key identifier of the certificate itself or of its issuer. */
export function keyIdOf(certificate: Extended, whose: 'own' | 'issuer'): Buffer | undefined {
  if (whose === 'own') return extensionOf(certificate, EXTENSION.subjectKeyId, readOctets)
  return extensionOf(
    certificate,
    EXTENSION.authorityKeyId,
    (id) => readSequence(id).find(({ tag }) => tag === KEY_ID)?.content,
  )
}
