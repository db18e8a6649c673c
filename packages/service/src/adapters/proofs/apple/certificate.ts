import { type KeyObject, verify, X509Certificate } from 'node:crypto'
import { childrenOf, type Element, isElement, readElement, TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'

/** A certificate that is strict DER to its last byte, signed with ECDSA. */
export interface Certificate {
  readonly x509: X509Certificate
  readonly publicKey: KeyObject
  /** By the content of their OID in hex. */
  readonly extensions: ReadonlyMap<string, { readonly critical: boolean; readonly value: Buffer }>
  readonly signed: { readonly body: Buffer; readonly digest: Digest; readonly signature: Buffer }
}

type Digest = 'sha256' | 'sha384' | 'sha512'

const ECDSA_WITH: readonly (readonly [Buffer, Digest])[] = [
  [oid('1.2.840.10045.4.3.2'), 'sha256'],
  [oid('1.2.840.10045.4.3.3'), 'sha384'],
  [oid('1.2.840.10045.4.3.4'), 'sha512'],
]

/** OpenSSL reads names, dates, keys and constraints; the rest of the structure is read here, strictly. */
export function readCertificate(der: Buffer): Certificate | undefined {
  const [body, algorithm, bits, ...more] = childrenOf(readElement(der), TAG.sequence) ?? []
  if (body === undefined || bits?.tag !== TAG.bitString || more.length > 0) return undefined
  const fields = childrenOf(body, TAG.sequence)
  const digest = digestOf(algorithm)
  // The algorithm stands inside and outside of what is signed; only the inner one is protected.
  if (digest === undefined || bits.content[0] !== 0 || fields?.[2]?.whole.equals(algorithm?.whole ?? bits.whole) !== true) return undefined
  const extensions = extensionsOf(fields)
  const opened = open(der)
  if (extensions === undefined || opened === undefined) return undefined
  return { ...opened, extensions, signed: { body: body.whole, digest, signature: bits.content.subarray(1) } }
}

/** Whether a key signed it. On the thread pool: P-384 takes ten times what an assertion does. */
export function isSignedBy({ signed }: Certificate, issuer: KeyObject): Promise<boolean> {
  if (issuer.asymmetricKeyType !== 'ec') return Promise.resolve(false)
  return verifyOffLoop({ ...signed, key: issuer })
}

/** `crypto.verify` on the thread pool. */
export function verifyOffLoop(of: { body: Buffer; digest: string; signature: Buffer; key: KeyObject }): Promise<boolean> {
  return new Promise((resolve) => verify(of.digest, of.body, of.key, of.signature, (failure, valid) => resolve(failure === null && valid)))
}

/** Whether an instant lies within its validity, both ends included. */
export function isValidAt({ x509 }: Certificate, now: number): boolean {
  return x509.validFromDate.getTime() <= now && now <= x509.validToDate.getTime()
}

/** The digest of an ECDSA algorithm identifier, which has no parameters. */
export function digestOf(algorithm: Element | undefined): Digest | undefined {
  const [id, ...parameters] = childrenOf(algorithm, TAG.sequence) ?? []
  if (parameters.length > 0) return undefined
  return ECDSA_WITH.find(([content]) => isElement(id, TAG.oid, content))?.[1]
}

/** Version, serial, algorithm, issuer, validity, subject, key, extensions: no unique ids, which nobody has written since 1997. */
function extensionsOf(fields: readonly Element[]): Certificate['extensions'] | undefined {
  const last = fields[7]
  if (fields.length !== 8) return undefined
  const [list, ...more] = childrenOf(last, TAG.context(3)) ?? []
  const found = new Map<string, { critical: boolean; value: Buffer }>()
  for (const extension of childrenOf(list, TAG.sequence) ?? []) {
    const parts = childrenOf(extension, TAG.sequence) ?? []
    const [id, value] = [parts[0], parts.at(-1)]
    const critical = parts.length === 3
    if (critical && !isElement(parts[1], TAG.boolean, Buffer.from([0xff]))) return undefined
    if (parts.length > 3 || id?.tag !== TAG.oid || value?.tag !== TAG.octetString) return undefined
    const name = id.content.toString('hex')
    if (found.has(name)) return undefined
    found.set(name, { critical, value: value.content })
  }
  return found.size > 0 && more.length === 0 ? found : undefined
}

function open(der: Buffer): { x509: X509Certificate; publicKey: KeyObject } | undefined {
  try {
    const x509 = new X509Certificate(der)
    return { x509, publicKey: x509.publicKey }
  } catch {
    return undefined
  }
}
