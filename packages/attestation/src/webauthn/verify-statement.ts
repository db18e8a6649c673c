import { type KeyObject, hash } from 'node:crypto'
import { accept, rejectWith, type Result } from '../result.ts'
import type { Environment, Instant } from '../environment.ts'
import {
  type AndroidKeyAttestationStep,
  verifyAndroidKeyAttestation,
} from '../android/verify-key-attestation.ts'
import { nonceOf } from '../apple/nonce-extension.ts'
import { readOctets } from '../asn1/values.ts'
import type { Certificate } from '../x509/certificate.ts'
import { EXTENSION, extensionOf } from '../x509/extensions.ts'
import { isAuthority } from '../x509/issuance.ts'
import { ATTRIBUTE } from '../x509/name.ts'
import { isSignatureOf, readPublicKey } from '../x509/public-key.ts'
import { type CertificatePathStep, verifyCertificatePath } from './certificate-path.ts'
import type { StatementTrust } from './trust.ts'

/** An attestation statement, and what it is about. */
export interface Statement {
  readonly format: unknown
  readonly members: ReadonlyMap<unknown, unknown>
  readonly authenticatorData: Uint8Array
  readonly clientDataHash: Uint8Array
  readonly aaguid: Uint8Array
  /** The credential's. */
  readonly publicKey: KeyObject
}

/** What a statement proves. */
export interface KeyTrust {
  /** Whether hardware that chains to a trusted root holds the key. */
  readonly attested: boolean
  readonly environment: Environment
  /** Serial numbers of an Android chain, for Google's revocation list. Otherwise empty. */
  readonly serials: readonly string[]
}

/** The check that failed. */
export type StatementStep =
  | CertificatePathStep
  | AndroidKeyAttestationStep
  | 'statement'
  | 'statement_format'
  | 'statement_signature'
  | 'statement_certificate'
  | 'statement_aaguid'
  | 'statement_key'
  | 'statement_nonce'

type StatementResult = Result<KeyTrust, 'attestation_invalid', StatementStep>

const fail = rejectWith('attestation_invalid')
/** Neither a trusted root nor a test root has attested the key. */
const UNATTESTED: KeyTrust = { attested: false, environment: 'production', serials: [] }

/**
 * Verifies an attestation statement. An empty one is accepted as unattested; a wrong one is
 * rejected.
 */
export function verifyStatement(
  statement: Statement,
  trust: StatementTrust,
  now: Instant,
): StatementResult {
  switch (statement.format) {
    case 'none':
      return statement.members.size === 0 ? accept(UNATTESTED) : fail('statement')
    case 'packed':
      return statement.members.has('x5c')
        ? verifyPacked(statement, trust, now)
        : verifySelf(statement)
    case 'android-key':
      return verifyAndroidKey(statement, trust, now)
    case 'apple':
      return verifyApple(statement, trust, now)
    default:
      return fail('statement_format')
  }
}

/** COSE's number for ECDSA with SHA-256. */
const ES256 = -7

/** Self attestation: the key signed its own registration, which proves no more than `none`. */
function verifySelf({ members, publicKey, ...statement }: Statement): StatementResult {
  if (!hasExactly(members, ['alg', 'sig']) || members.get('alg') !== ES256) return fail('statement')
  return isSigned(statement, members.get('sig'), publicKey)
    ? accept(UNATTESTED)
    : fail('statement_signature')
}

function verifyPacked(statement: Statement, trust: StatementTrust, now: Instant): StatementResult {
  const x5c = bytesList(statement.members.get('x5c'))
  if (
    x5c === undefined ||
    !hasExactly(statement.members, ['alg', 'sig', 'x5c']) ||
    statement.members.get('alg') !== ES256
  )
    return fail('statement')
  const model = Buffer.from(statement.aaguid).toString('hex')
  const roots = trust.packed.filter(({ aaguids }) => aaguids?.has(model) ?? true)
  const path = verifyCertificatePath(x5c, { roots, now })
  if (!path.ok) return path
  const { leaf, environment } = path.value
  if (!isPackedCertificate(leaf)) return fail('statement_certificate')
  if (!agreesOnModel(leaf, statement.aaguid)) return fail('statement_aaguid')
  const key = readPublicKey(leaf.publicKey)
  if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return fail('statement')
  return isSigned(statement, statement.members.get('sig'), key)
    ? accept({ attested: true, environment, serials: [] })
    : fail('statement_signature')
}

function verifyAndroidKey(
  statement: Statement,
  { android }: StatementTrust,
  now: Instant,
): StatementResult {
  const x5c = bytesList(statement.members.get('x5c'))
  if (
    x5c === undefined ||
    !hasExactly(statement.members, ['alg', 'sig', 'x5c']) ||
    statement.members.get('alg') !== ES256
  )
    return fail('statement')
  const input = { chain: x5c, challenge: statement.clientDataHash, now }
  const attested = verifyAndroidKeyAttestation(input, android)
  if (!attested.ok) return attested
  if (!isSameKey(attested.value.publicKey, statement.publicKey)) return fail('statement_key')
  if (!isSigned(statement, statement.members.get('sig'), statement.publicKey))
    return fail('statement_signature')
  const { environment, serials } = attested.value
  return accept({ attested: true, environment, serials })
}

function verifyApple(statement: Statement, trust: StatementTrust, now: Instant): StatementResult {
  const x5c = bytesList(statement.members.get('x5c'))
  if (x5c === undefined || !isAppleForm(statement.members)) return fail('statement')
  const path = verifyCertificatePath(x5c, { roots: trust.apple, now })
  if (!path.ok) return path
  const { leaf, environment } = path.value
  const nonce = hash(
    'sha256',
    Buffer.concat([statement.authenticatorData, statement.clientDataHash]),
    'buffer',
  )
  if (nonceOf(leaf)?.equals(nonce) !== true) return fail('statement_nonce')
  const key = readPublicKey(leaf.publicKey)
  if (
    key === undefined ||
    !isSameKey(key.export({ format: 'der', type: 'spki' }), statement.publicKey)
  )
    return fail('statement_key')
  return accept({ attested: true, environment, serials: [] })
}

/**
 * WebAuthn, section 8.8, has the chain alone. Genuine statements from September 2020 to May 2021
 * also name the algorithm.
 */
function isAppleForm(members: ReadonlyMap<unknown, unknown>): boolean {
  return (
    hasExactly(members, ['x5c']) ||
    (hasExactly(members, ['alg', 'x5c']) && members.get('alg') === ES256)
  )
}

/** WebAuthn, section 8.2.1: the requirements for attestation certificates. */
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

/** If a certificate names a model, it must be the authenticator's. */
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
