import type { Instant } from '../../../domain/session.ts'
import { type Element, TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import { idOf, inside, octetsOf, readBer, sequence, timeOf } from './ber.ts'
import { type Name, nameOf } from './name.ts'
import { isSigned, signatureAlgorithm } from './signature.ts'

/** An X.509 certificate of a state. Nothing in it is trusted before it was found to be issued by one that is. */
export interface Certificate {
  readonly encoded: Buffer
  /** In hex. */
  readonly serial: string
  readonly issuer: Name
  readonly subject: Name
  readonly notBefore: Instant
  readonly notAfter: Instant
  readonly spki: Buffer
  readonly extensions: ReadonlyMap<string, Extension>
  readonly signed: { readonly message: Buffer; readonly algorithm: Element; readonly signature: Buffer }
}

interface Extension {
  readonly critical: boolean
  readonly value: Buffer
}

/** Identifiers of extensions, in hex. */
export const EXTENSION = {
  subjectKeyId: '551d0e',
  authorityKeyId: '551d23',
  keyUsage: '551d0f',
  basicConstraints: '551d13',
  extendedKeyUsage: '551d25',
} as const

/** The largest that is recorded is below 3 KiB. */
const MAX_CERTIFICATE_BYTES = 16 * 1024

/** Reads a certificate in BER: states' own encoders do not always keep to DER. Undefined for anything else. */
export function readCertificate(encoded: Buffer): Certificate | undefined {
  if (encoded.length > MAX_CERTIFICATE_BYTES) return undefined
  const [body, algorithm, bits, ...more] = sequence(readBer(encoded))
  const fields = [...sequence(body)]
  if (body === undefined || algorithm === undefined || bits?.tag !== TAG.bitString || bits.content[0] !== 0 || more.length > 0) return undefined
  if (fields[0]?.tag === TAG.context(0)) fields.shift()
  const [serial, innerAlgorithm, issuerName, validity, subjectName, key, ...optional] = fields
  // It stands twice, and only the one inside is signed.
  if (innerAlgorithm?.whole.equals(algorithm.whole) !== true || serial?.tag !== TAG.integer || key?.tag !== TAG.sequence) return undefined
  const [notBefore, notAfter] = sequence(validity).map(timeOf)
  const [issuer, subject] = [nameOf(issuerName), nameOf(subjectName)]
  const extensions = extensionsOf(optional.find(({ tag }) => tag === TAG.context(3)))
  if (issuer === undefined || subject === undefined || notBefore === undefined || notAfter === undefined || extensions === undefined) return undefined
  return {
    encoded,
    serial: serial.content.toString('hex'),
    issuer,
    subject,
    notBefore,
    notAfter,
    spki: key.whole,
    extensions,
    signed: { message: body.whole, algorithm, signature: bits.content.subarray(1) },
  }
}

function extensionsOf(field: Element | undefined): Certificate['extensions'] | undefined {
  const extensions = new Map<string, Extension>()
  for (const extension of field === undefined ? [] : sequence(inside(field, TAG.context(3))[0])) {
    const [id, ...parts] = sequence(extension)
    const critical = parts.length === 2 && parts[0]?.tag === TAG.boolean && parts[0].content[0] !== 0
    const [name, value] = [idOf(id), octetsOf(parts.at(-1))]
    // Twice the same: which one counts would depend on who reads.
    if (name === '' || value === undefined || parts.length > 2 || extensions.has(name)) return undefined
    extensions.set(name, { critical, value })
  }
  return extensions
}

/** Whether the issuer's key signed it. */
export function isIssuedBy({ signed }: Certificate, issuer: Certificate): boolean {
  const algorithm = signatureAlgorithm(signed.algorithm)
  return algorithm !== undefined && isSigned(algorithm, { ...signed, spki: issuer.spki })
}

export function isValidAt({ notBefore, notAfter }: Certificate, instant: Instant): boolean {
  return notBefore <= instant && instant <= notAfter
}

const DIGITAL_SIGNATURE = 0x80
const CERTIFICATE_SIGNING = 0x04

/**
 * Whether it may issue others. The usage decides: Turkey's country certificate of 2021 has it, and calls itself no
 * authority in its basic constraints.
 */
export function mayIssue(certificate: Certificate): boolean {
  const usage = keyUsageOf(certificate)
  return usage === undefined ? isAuthority(certificate) : (usage & CERTIFICATE_SIGNING) !== 0
}

/** Whether it may sign documents, and is no authority itself. */
export function maySign(certificate: Certificate): boolean {
  const usage = keyUsageOf(certificate)
  return usage === undefined ? !isAuthority(certificate) : (usage & DIGITAL_SIGNATURE) !== 0 && (usage & CERTIFICATE_SIGNING) === 0
}

/** Purposes that it is limited to, as identifiers in hex; undefined where it names none. */
export function purposesOf({ extensions }: Certificate): readonly string[] | undefined {
  const extension = extensions.get(EXTENSION.extendedKeyUsage)
  return extension && sequence(readBer(extension.value)).map(idOf)
}

/** The id of the key that an issuer says it has, or that a certificate says its issuer has. */
export function keyIdOf({ extensions }: Certificate, whose: 'own' | 'issuer'): Buffer | undefined {
  if (whose === 'own') return octetsOf(readBer(extensions.get(EXTENSION.subjectKeyId)?.value ?? Buffer.alloc(0)))
  const parts = sequence(readBer(extensions.get(EXTENSION.authorityKeyId)?.value ?? Buffer.alloc(0)))
  return parts.find(({ tag }) => tag === KEY_ID)?.content
}

const KEY_ID = 0x80

function keyUsageOf({ extensions }: Certificate): number | undefined {
  const extension = extensions.get(EXTENSION.keyUsage)
  if (extension === undefined) return undefined
  const bits = readBer(extension.value)
  // The first byte counts the unused bits of the last; no usage at all is read where it is no bit string.
  return bits?.tag === TAG.bitString ? (bits.content[1] ?? 0) : 0
}

function isAuthority({ extensions }: Certificate): boolean {
  const [flag] = sequence(readBer(extensions.get(EXTENSION.basicConstraints)?.value ?? Buffer.alloc(0)))
  return flag?.tag === TAG.boolean && flag.content[0] !== 0
}

/** Extensions whose meaning is kept here. A critical one beside them asks for something that nobody here would do. */
const UNDERSTOOD: readonly string[] = [EXTENSION.keyUsage, EXTENSION.basicConstraints, EXTENSION.extendedKeyUsage, oid('2.5.29.32').toString('hex')]

export function asksForMore({ extensions }: Certificate): boolean {
  return [...extensions].some(([id, { critical }]) => critical && !UNDERSTOOD.includes(id))
}
