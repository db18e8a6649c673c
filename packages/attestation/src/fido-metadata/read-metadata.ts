import { constants, type KeyObject, verify } from 'node:crypto'
import { requireInstant } from '../arguments.ts'
import type { Instant } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { type AttestationRoot, verifyCertificatePath } from '../webauthn/certificate-path.ts'
import { parseObject } from '../webauthn/parse-object.ts'
import { attestationRoots } from '../webauthn/trust.ts'
import { ATTRIBUTE } from '../x509/name.ts'
import { readPublicKey } from '../x509/public-key.ts'
import { type FidoEntry, readEntry } from './entry.ts'
import { FIDO_METADATA_ROOT } from './root.ts'

/** Where the FIDO Alliance publishes its metadata. The caller fetches it, once a day or less. */
export const FIDO_METADATA_URL = 'https://mds3.fidoalliance.org/'

/** The Alliance's list of authenticator models. */
export interface FidoMetadata {
  /** Increases with each list. Reject a list with a lower number than the last one read. */
  readonly number: number
  /** When the Alliance publishes the next list, at the latest. */
  readonly nextUpdate: Instant
  /** The models with an AAGUID: those of FIDO2. */
  readonly entries: readonly FidoEntry[]
  /** How many entries could not be read. */
  readonly unreadable: number
}

/** The check that failed. */
export type FidoMetadataStep =
  | 'encoding'
  | 'header'
  | 'certificate_chain'
  | 'signer'
  | 'signature'
  | 'payload'
  | 'outdated'

/** What a list is read with. */
export interface FidoMetadataOptions {
  readonly now: Instant
  /** Roots of the signer. By default the one that the Alliance uses. */
  readonly roots?: readonly AttestationRoot[]
  /** How long a list stays usable after its next update is due. Default: 0. */
  readonly graceMs?: number
}

/**
 * The common name of the signer. The root also certifies web servers of other companies, so the
 * name is what tells the Alliance from them.
 */
const SIGNER = 'mds.fidoalliance.org'
/** The list has some 6 MB. */
const MAX_CHARACTERS = 32 * 1024 * 1024
const PART = /^[A-Za-z0-9_-]+$/

/**
 * Reads the metadata of the FIDO Alliance (Metadata Service 3.0, section 3.2): a signed list of
 * authenticator models, with the roots of their attestation keys and known weaknesses.
 *
 * @param blob the text that `FIDO_METADATA_URL` returns: a JWT
 * @throws {TypeError} for a `now` that is not a number
 *
 * @example
 * import { readFidoMetadata } from '@bonded/attestation/fido-metadata'
 * import { webAuthnSample as sample } from '@bonded/attestation/samples'
 * import { attestationRoots } from '@bonded/attestation/webauthn'
 *
 * const metadata = readFidoMetadata(sample.fidoMetadata, {
 *   now: sample.now,
 *   // With the real list: leave it out.
 *   roots: attestationRoots([sample.fidoMetadataTestRoot], 'sandbox'),
 * })
 * console.log(metadata.ok && metadata.value.entries.length) // 1
 */
export function readFidoMetadata(
  blob: string,
  { now, roots = fidoRoots(), graceMs = 0 }: FidoMetadataOptions,
): Result<FidoMetadata, 'metadata_invalid', FidoMetadataStep> {
  requireInstant(now)
  const fail = rejectWith('metadata_invalid')
  // 1. It is a JWT of three parts.
  const parts = blob.length > MAX_CHARACTERS ? [] : blob.trim().split('.')
  if (parts.length !== 3 || !parts.every((part) => PART.test(part))) return fail('encoding')
  const [header, payload, signature] = parts.map((part) => Buffer.from(part, 'base64url'))
  if (header === undefined || payload === undefined || signature === undefined)
    return fail('encoding')
  // 2. The header names the algorithm and the chain of the signer.
  const { alg, x5c } = parseObject(header) ?? {}
  const chain = chainOf(x5c)
  if (chain === undefined || (alg !== 'RS256' && alg !== 'ES256')) return fail('header')
  // 3. The chain ends at the root, and its leaf is the Alliance's.
  const path = verifyCertificatePath(chain, { roots, now })
  if (!path.ok) return fail('certificate_chain')
  const { subject, publicKey } = path.value.leaf
  if (subject.attributes.get(ATTRIBUTE.commonName) !== SIGNER) return fail('signer')
  // 4. The signature covers header and payload as sent.
  const key = readPublicKey(publicKey)
  const message = Buffer.from(parts.slice(0, 2).join('.'))
  if (key === undefined || !isSigned(alg, { message, signature, key })) return fail('signature')
  // 5. The payload.
  const { no, nextUpdate, entries } = parseObject(payload) ?? {}
  const until = typeof nextUpdate === 'string' ? dateOf(nextUpdate) : undefined
  if (!Number.isSafeInteger(no) || until === undefined || !Array.isArray(entries))
    return fail('payload')
  // 6. The list is current: an old one hides newer weaknesses.
  if (now > until + graceMs) return fail('outdated')
  const models = entries.filter((entry) => isFido2(entry))
  const read = models.flatMap((entry) => readEntry(entry) ?? [])
  return accept({
    number: Number(no),
    nextUpdate: until,
    entries: read,
    unreadable: models.length - read.length,
  })
}

function isSigned(
  alg: 'RS256' | 'ES256',
  { message, signature, key }: { message: Buffer; signature: Buffer; key: KeyObject },
): boolean {
  const isOfKind =
    alg === 'RS256'
      ? key.asymmetricKeyType === 'rsa'
      : key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  const options =
    alg === 'RS256'
      ? ({ key, padding: constants.RSA_PKCS1_PADDING } as const)
      : ({ key, dsaEncoding: 'ieee-p1363' } as const)
  try {
    return isOfKind && verify('sha256', message, options, signature)
  } catch {
    return false
  }
}

/** Certificates in standard base64, leaf first. */
function chainOf(x5c: unknown): Buffer[] | undefined {
  return Array.isArray(x5c) && x5c.length > 0 && x5c.every((one) => typeof one === 'string')
    ? x5c.map((one) => Buffer.from(one, 'base64'))
    : undefined
}

/** The end of a day such as `2026-12-01`. */
function dateOf(text: string): Instant | undefined {
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T23:59:59.999Z`) : Number.NaN
  return Number.isNaN(instant) ? undefined : instant
}

/** Entries of older FIDO protocols have other identifiers. */
function isFido2(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && 'aaguid' in entry
}

let parsed: readonly AttestationRoot[] | undefined

function fidoRoots(): readonly AttestationRoot[] {
  parsed ??= attestationRoots([FIDO_METADATA_ROOT], 'production')
  return parsed
}
