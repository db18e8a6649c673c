import { type KeyObject, hash } from 'node:crypto'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { Device, Instant } from '../../../domain/session.ts'
import { type AndroidTrust, verifyAttestedKey } from '../android/attested-key.ts'
import { nonceOf } from '../apple/nonce-extension.ts'
import { readOctets } from '../der/values.ts'
import type { Certificate } from '../x509/certificate.ts'
import { EXTENSION, extensionOf } from '../x509/extensions.ts'
import { isAuthority } from '../x509/links.ts'
import { ATTRIBUTE } from '../x509/name.ts'
import { isSignatureOf, readPublicKey } from '../x509/public-key.ts'
import { type AttestationRoot, verifyPath } from './path.ts'

/** A statement, and what it is about. */
export interface Statement {
  readonly format: unknown
  readonly members: ReadonlyMap<unknown, unknown>
  readonly authenticatorData: Uint8Array
  readonly clientDataHash: Uint8Array
  readonly aaguid: Uint8Array
  /** The credential's. */
  readonly publicKey: KeyObject
}

/** Whom to believe, by format. A format without roots is attested by nobody. */
export interface StatementTrust {
  readonly packed: readonly AttestationRoot[]
  readonly apple: readonly AttestationRoot[]
  /** Whose `policy.apps` are the browsers' key keepers. */
  readonly android: AndroidTrust
}

/** What a statement shows. `attested`: hardware known to a trusted root keeps the key. */
export interface Standing {
  readonly attested: boolean
  readonly environment: Device['environment']
}

const no = (step: string) => refuse('attestation_invalid', { step })

/** Verifies an attestation statement. What says nothing is fine, what says something wrong is not. */
export async function verifyStatement(
  statement: Statement,
  trust: StatementTrust,
  now: Instant,
): Promise<Result<Standing>> {
  switch (statement.format) {
    case 'none':
      return statement.members.size === 0
        ? accept({ attested: false, environment: 'production' })
        : no('statement')
    case 'packed':
      return statement.members.has('x5c')
        ? verifyPacked(statement, trust, now)
        : verifySelf(statement)
    case 'android-key':
      return verifyAndroidKey(statement, trust)
    case 'apple':
      return verifyApple(statement, trust, now)
    default:
      return no('statement_format')
  }
}

/** COSE's number for ECDSA with SHA-256. */
const ES256 = -7

/** A key that vouches for itself shows that somebody has it: no more than `none`. */
function verifySelf({ members, publicKey, ...statement }: Statement): Result<Standing> {
  if (!hasExactly(members, ['alg', 'sig']) || members.get('alg') !== ES256) return no('statement')
  return isSigned(statement, members.get('sig'), publicKey)
    ? accept({ attested: false, environment: 'production' })
    : no('statement_signature')
}

function verifyPacked(statement: Statement, trust: StatementTrust, now: Instant): Result<Standing> {
  const x5c = bytesList(statement.members.get('x5c'))
  if (
    x5c === undefined ||
    !hasExactly(statement.members, ['alg', 'sig', 'x5c']) ||
    statement.members.get('alg') !== ES256
  )
    return no('statement')
  const path = verifyPath(x5c, { roots: trust.packed, now })
  if (!path.ok) return path
  const { leaf, environment } = path.value
  if (!isPackedCertificate(leaf)) return no('statement_certificate')
  if (!agreesOnModel(leaf, statement.aaguid)) return no('statement_aaguid')
  const key = readPublicKey(leaf.publicKey)
  if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return no('statement')
  return isSigned(statement, statement.members.get('sig'), key)
    ? accept({ attested: true, environment })
    : no('statement_signature')
}

async function verifyAndroidKey(
  statement: Statement,
  { android }: StatementTrust,
): Promise<Result<Standing>> {
  const x5c = bytesList(statement.members.get('x5c'))
  if (
    x5c === undefined ||
    !hasExactly(statement.members, ['alg', 'sig', 'x5c']) ||
    statement.members.get('alg') !== ES256
  )
    return no('statement')
  const attested = await verifyAttestedKey(x5c, statement.clientDataHash, android)
  if (!attested.ok) return attested
  if (!isSameKey(attested.value.publicKey, statement.publicKey)) return no('statement_key')
  if (!isSigned(statement, statement.members.get('sig'), statement.publicKey))
    return no('statement_signature')
  return accept({ attested: true, environment: attested.value.environment })
}

function verifyApple(statement: Statement, trust: StatementTrust, now: Instant): Result<Standing> {
  const x5c = bytesList(statement.members.get('x5c'))
  if (x5c === undefined || !isAppleForm(statement.members)) return no('statement')
  const path = verifyPath(x5c, { roots: trust.apple, now })
  if (!path.ok) return path
  const { leaf, environment } = path.value
  const nonce = hash(
    'sha256',
    Buffer.concat([statement.authenticatorData, statement.clientDataHash]),
    'buffer',
  )
  if (nonceOf(leaf)?.equals(nonce) !== true) return no('statement_nonce')
  const key = readPublicKey(leaf.publicKey)
  if (
    key === undefined ||
    !isSameKey(key.export({ format: 'der', type: 'spki' }), statement.publicKey)
  )
    return no('statement_key')
  return accept({ attested: true, environment })
}

/** WebAuthn 8.8 has the chain alone. Genuine statements from September 2020 to May 2021 name the algorithm beside it. */
function isAppleForm(members: ReadonlyMap<unknown, unknown>): boolean {
  return (
    hasExactly(members, ['x5c']) ||
    (hasExactly(members, ['alg', 'x5c']) && members.get('alg') === ES256)
  )
}

/** WebAuthn 8.2.1: what a certificate must say to attest authenticators. */
function isPackedCertificate(leaf: Certificate): boolean {
  const { attributes } = leaf.subject
  return (
    leaf.version === 3 &&
    /^[A-Z]{2}$/.test(attributes.get(ATTRIBUTE.country) ?? '') &&
    (attributes.get(ATTRIBUTE.organization) ?? '') !== '' &&
    attributes.get(ATTRIBUTE.unit) === 'Authenticator Attestation' &&
    (attributes.get(ATTRIBUTE.commonName) ?? '') !== '' &&
    leaf.extensions.has(EXTENSION.basicConstraints) &&
    !isAuthority(leaf)
  )
}

const AAGUID = '1.3.6.1.4.1.45724.1.1.4'

/** Where a certificate names a model, it is the authenticator's. */
function agreesOnModel(leaf: Certificate, aaguid: Uint8Array): boolean {
  return (
    !leaf.extensions.has(AAGUID) || extensionOf(leaf, AAGUID, readOctets)?.equals(aaguid) === true
  )
}

function isSigned(
  { authenticatorData, clientDataHash }: Pick<Statement, 'authenticatorData' | 'clientDataHash'>,
  signature: unknown,
  key: KeyObject,
): boolean {
  const message = Buffer.concat([authenticatorData, clientDataHash])
  return (
    signature instanceof Uint8Array && isSignatureOf({ message, digest: 'sha256', signature, key })
  )
}

function isSameKey(spki: Uint8Array, key: KeyObject): boolean {
  return key.export({ format: 'der', type: 'spki' }).equals(spki)
}

function hasExactly(members: ReadonlyMap<unknown, unknown>, names: readonly string[]): boolean {
  return members.size === names.length && names.every((name) => members.has(name))
}

function bytesList(value: unknown): readonly Uint8Array[] | undefined {
  return Array.isArray(value) && value.every((one) => one instanceof Uint8Array) ? value : undefined
}
