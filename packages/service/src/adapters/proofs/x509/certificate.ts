import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Instant } from '../../../domain/session.ts'
import {
  type DerElement,
  MalformedDer,
  readBits,
  readBoolean,
  readDer,
  readExplicit,
  readInteger,
  readOctets,
  readOid,
  readSequence,
  readSetOf,
} from './der.ts'

/** What is read of an X.509 certificate. Nothing in it is trusted before a chain has been verified. */
export interface Certificate {
  readonly encoded: Uint8Array
  /** 1 to 3. */
  readonly version: number
  /** Lower-case hex without leading zeros, as revocation lists write it. */
  readonly serial: string
  /** Names as encoded: links of a chain are compared byte for byte. */
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  /** The subject's attributes by object identifier. Of several of one kind, the last. */
  readonly subjectAttributes: ReadonlyMap<string, string>
  readonly notBefore: Instant
  readonly notAfter: Instant
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly extensions: ReadonlyMap<string, Extension>
  readonly signed: { readonly content: Uint8Array; readonly algorithm: string; readonly signature: Uint8Array }
}

interface Extension {
  readonly critical: boolean
  readonly value: Uint8Array
}

/** Chains of real phones hold up to 2.5 KiB a certificate; one with an ML-DSA key up to 5. */
const MAX_CERTIFICATE_BYTES = 8 * 1024

/** Reads a certificate. Undefined for anything that is not one in strict DER. */
export function readCertificate(encoded: Uint8Array): Certificate | undefined {
  if (encoded.length > MAX_CERTIFICATE_BYTES) return undefined
  try {
    return parse(encoded)
  } catch (failure) {
    if (failure instanceof MalformedDer) return undefined
    throw failure
  }
}

function parse(encoded: Uint8Array): Certificate {
  const [content, algorithm, signature, ...rest] = readSequence(readDer(encoded))
  const fields = readSequence(content)
  if (content === undefined || algorithm === undefined || rest.length > 0) throw new MalformedDer('certificate')
  const version = isContext(fields[0], 0) ? Number(readInteger(readExplicit(fields.shift() as DerElement))) + 1 : 1
  const [serial, innerAlgorithm, issuer, validity, subject, publicKey, ...optional] = fields
  if (innerAlgorithm === undefined || issuer === undefined || subject === undefined || publicKey === undefined) throw new MalformedDer('certificate')
  // The algorithm stands twice, and only one of the two is signed.
  if (!equal(algorithm.encoded, innerAlgorithm.encoded)) throw new MalformedDer('algorithm')
  const [notBefore, notAfter] = readSequence(validity)
  readSequence(publicKey)
  return {
    encoded,
    version,
    serial: hexOf(readInteger(serial)),
    issuer: issuer.encoded,
    subject: subject.encoded,
    subjectAttributes: readName(subject),
    notBefore: readTime(notBefore),
    notAfter: readTime(notAfter),
    publicKey: publicKey.encoded,
    extensions: readExtensions(optional.find((field) => isContext(field, 3))),
    signed: { content: content.encoded, algorithm: readOid(readSequence(algorithm)[0]), signature: readBits(signature) },
  }
}

function isContext(field: DerElement | undefined, tag: number): field is DerElement {
  return field?.tagClass === 'context' && field.tag === tag
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

function hexOf(serial: bigint): string {
  if (serial < 0n) throw new MalformedDer('serial')
  return serial.toString(16)
}

function readName(name: DerElement): Map<string, string> {
  const attributes = new Map<string, string>()
  for (const part of readSequence(name)) {
    for (const attribute of readSetOf(part)) {
      const [type, value] = readSequence(attribute)
      if (value === undefined) throw new MalformedDer('name')
      attributes.set(readOid(type), Buffer.from(value.content).toString('utf8'))
    }
  }
  return attributes
}

const UTC_TIME = 23
const GENERALIZED_TIME = 24

function readTime(element: DerElement | undefined): Instant {
  const text = Buffer.from(element?.content ?? []).toString('latin1')
  const digits = /^(\d{12}|\d{14})Z$/.exec(text)?.[1] ?? ''
  const short = element?.tagClass === 'universal' && element.tag === UTC_TIME && digits.length === 12
  const long = element?.tagClass === 'universal' && element.tag === GENERALIZED_TIME && digits.length === 14
  if (!short && !long) throw new MalformedDer('time')
  // RFC 5280: two digits from 50 on are of the last century.
  const full = long ? digits : `${Number(digits.slice(0, 2)) >= 50 ? '19' : '20'}${digits}`
  const time = Date.parse(full.replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z'))
  if (Number.isNaN(time)) throw new MalformedDer('time')
  return time
}

function readExtensions(field: DerElement | undefined): Map<string, Extension> {
  const extensions = new Map<string, Extension>()
  for (const extension of field === undefined ? [] : readSequence(readExplicit(field))) {
    const [id, ...parts] = readSequence(extension)
    const critical = parts.length === 2 ? readBoolean(parts.shift()) : false
    const oid = readOid(id)
    // Twice the same: which one counts would depend on who reads.
    if (parts.length !== 1 || extensions.has(oid)) throw new MalformedDer('extension')
    extensions.set(oid, { critical, value: readOctets(parts[0]) })
  }
  return extensions
}

/** The signature algorithms taken, and the kind of key each belongs to. SHA-1 is not among them. */
const ALGORITHMS: Readonly<Record<string, { readonly hash: string; readonly key: 'rsa' | 'ec' }>> = {
  '1.2.840.113549.1.1.11': { hash: 'sha256', key: 'rsa' },
  '1.2.840.113549.1.1.12': { hash: 'sha384', key: 'rsa' },
  '1.2.840.113549.1.1.13': { hash: 'sha512', key: 'rsa' },
  '1.2.840.10045.4.3.2': { hash: 'sha256', key: 'ec' },
  '1.2.840.10045.4.3.3': { hash: 'sha384', key: 'ec' },
  '1.2.840.10045.4.3.4': { hash: 'sha512', key: 'ec' },
}

/** Whether the key signed the certificate. Runs on Node's thread pool: a chain must not hold up the event loop. */
export function isSignedBy(certificate: Certificate, key: KeyObject): Promise<boolean> {
  const { content, algorithm, signature } = certificate.signed
  const known = ALGORITHMS[algorithm]
  if (known === undefined || known.key !== key.asymmetricKeyType) return Promise.resolve(false)
  return new Promise((resolve) => {
    verify(known.hash, content, key, signature, (failure, valid) => resolve(failure === null && valid))
  })
}

/** A public key from SPKI, or undefined where Node does not know it. */
export function readPublicKey(spki: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}
