import type { Instant } from '../../../domain/session.ts'
import { type Certificate, isSignedBy, readPublicKey } from './certificate.ts'
import { MalformedDer, readBoolean, readDer, readInteger, readSequence } from './der.ts'

const BASIC_CONSTRAINTS = '2.5.29.19'
const KEY_USAGE = '2.5.29.15'
/** Bit 5 of KeyUsage, counted from the left: keyCertSign. */
const MAY_SIGN_CERTIFICATES = 0x04

/** What is wrong with a link of a chain, in one word. */
export type BrokenLink = 'issuer_name' | 'issuer_not_ca' | 'path_length' | 'issuer_key' | 'signature'

/**
 * Whether the issuer may have issued the certificate, and did. Undefined where the link holds.
 *
 * @param authoritiesBelow how many authorities stand between the issuer and the chain's leaf
 */
export async function brokenLink(certificate: Certificate, issuer: Certificate, authoritiesBelow: number): Promise<BrokenLink | undefined> {
  if (Buffer.compare(certificate.issuer, issuer.subject) !== 0) return 'issuer_name'
  const authority = authorityOf(issuer)
  if (authority === undefined) return 'issuer_not_ca'
  if (authoritiesBelow > authority.pathLength) return 'path_length'
  return brokenSignature(certificate, issuer)
}

/** Whether the issuer signed the certificate, whatever it was allowed to. Undefined where it did. */
export async function brokenSignature(certificate: Certificate, issuer: Certificate): Promise<BrokenLink | undefined> {
  if (Buffer.compare(certificate.issuer, issuer.subject) !== 0) return 'issuer_name'
  const key = readPublicKey(issuer.publicKey)
  if (key === undefined) return 'issuer_key'
  return (await isSignedBy(certificate, key)) ? undefined : 'signature'
}

/** What a certificate says of issuing others; undefined where it must not. */
export function authorityOf({ extensions }: Certificate): { readonly pathLength: number } | undefined {
  try {
    const constraints = extensions.get(BASIC_CONSTRAINTS)
    const usage = extensions.get(KEY_USAGE)
    if (constraints === undefined) return undefined
    const [isAuthority, pathLength] = readSequence(readDer(constraints.value))
    if (isAuthority === undefined || !readBoolean(isAuthority)) return undefined
    if (usage !== undefined && !maySignCertificates(usage.value)) return undefined
    return { pathLength: pathLength === undefined ? Number.POSITIVE_INFINITY : Number(readInteger(pathLength)) }
  } catch (failure) {
    if (failure instanceof MalformedDer) return undefined
    throw failure
  }
}

function maySignCertificates(value: Uint8Array): boolean {
  const usage = readDer(value)
  // The first byte counts the unused bits of the last one.
  return usage.tagClass === 'universal' && usage.tag === 3 && ((usage.content[1] ?? 0) & MAY_SIGN_CERTIFICATES) !== 0
}

/** Whether somebody signed it with the name it bears itself. */
export function isSelfIssued({ issuer, subject }: Certificate): boolean {
  return Buffer.compare(issuer, subject) === 0
}

export function isValidAt({ notBefore, notAfter }: Certificate, now: Instant): boolean {
  return notBefore <= now && now <= notAfter
}

/** Whether it demands something that is not understood here. */
export function hasForeignCriticalExtension({ extensions }: Certificate, understood: ReadonlySet<string>): boolean {
  return [...extensions].some(([id, { critical }]) => critical && !understood.has(id))
}
