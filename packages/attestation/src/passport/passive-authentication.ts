import { createHash } from 'node:crypto'
import { requireBytes, requireInstant } from '../arguments.ts'
import { bufferOf } from '../bytes.ts'
import type { Instant } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { type Certificate, isValidAt } from '../x509/certificate.ts'
import { purposesOf } from '../x509/extensions.ts'
import {
  hasUnsupportedCriticalExtension,
  countryOf,
  maySign,
  verifyIssuedBy,
} from './state-certificate.ts'
import { isCountryOf } from './country.ts'
import { contentOf, FILE_TAG, MRZ_TAG } from './elementary-file.ts'
import { type Mrz, readMrz } from './mrz.ts'
import {
  readSecurityObject,
  SECURITY_OBJECT_TYPES,
  type SecurityObject,
} from './security-object.ts'
import {
  coversContent,
  readSignedDocument,
  signerCandidates,
  signingTime,
  verifySignedWith,
} from './signed-document.ts'
import { findSigned } from './signature.ts'
import type { CountryTrust } from './country-trust.ts'
import type { PassiveAuthenticationStep } from './steps.ts'

/** What `verifyPassiveAuthentication` is given: files as they were read from the chip. */
export interface PassiveAuthenticationInput {
  /** EF.SOD, with or without its own tag. */
  readonly sod: Uint8Array
  readonly dg1: Uint8Array
  readonly dg14?: Uint8Array | undefined
  readonly dg15?: Uint8Array | undefined
  readonly now: Instant
}

/** A document that its state signed and that has not expired. */
export interface AuthenticDocument {
  readonly mrz: Mrz
  /** The data groups that the state has signed. An unlisted one counts as absent. */
  readonly listed: { readonly dg14?: Buffer; readonly dg15?: Buffer }
}

type PassiveResult<Value> = Result<Value, 'passport_invalid', PassiveAuthenticationStep>

const fail = rejectWith('passport_invalid')

/**
 * Verifies passive authentication (Doc 9303-11, section 5.1; Doc 9303-10, section 4.6; Doc 9303-12,
 * section 7): a trusted state has signed the security object, and the data groups match it.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import {
 *   CountryTrust,
 *   readStateCertificate,
 *   verifyPassiveAuthentication,
 * } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * const trust = new CountryTrust([readStateCertificate(sample.countryCertificate)])
 * const { sod, dg1, now } = sample
 * const document = verifyPassiveAuthentication({ sod, dg1, now }, trust)
 * console.log(document.ok && document.value.mrz.issuingState) // UTO
 */
export function verifyPassiveAuthentication(
  input: PassiveAuthenticationInput,
  trust: CountryTrust,
): PassiveResult<AuthenticDocument> {
  const { sod, dg1, dg14, dg15, now } = input
  requireBytes({ sod, dg1 }, { dg14, dg15 })
  requireInstant(now)
  const object = verifySecurityObject(bufferOf(sod), { trust, now })
  return object.ok ? verifyDataGroups(input, { object: object.value, now }) : object
}

/** A security object that a trusted state has signed. */
export interface AuthenticSecurityObject extends SecurityObject {
  /** The country of the certificate that signed it: two letters. */
  readonly country: string | undefined
}

/** Steps 1 to 7: a trusted state has signed the security object. */
export function verifySecurityObject(
  sod: Buffer,
  { trust, now }: { trust: CountryTrust; now: Instant },
): PassiveResult<AuthenticSecurityObject> {
  // 1. EF.SOD holds CMS SignedData. Some readers have already removed the file's own tag.
  const unwrapped = sod[0] === FILE_TAG.sod ? contentOf(sod, FILE_TAG.sod) : sod
  if (unwrapped === undefined || unwrapped.length === 0) return fail('sod_unwrap')
  const signed = readSignedDocument(unwrapped)
  if (signed === undefined) return fail('sod_signed_data')

  // 2. What is signed is an LDS security object.
  const object = SECURITY_OBJECT_TYPES.includes(signed.contentType)
    ? readSecurityObject(signed.content)
    : undefined
  if (object === undefined) return fail('lds_security_object')

  // 3. The signed attributes are about this content: its type and its digest.
  if (!coversContent(signed)) return fail('message_digest')

  // 4. The document signer's certificate is in the file, and its key signed the attributes.
  const candidates = signerCandidates(signed)
  if (candidates.length === 0) return fail('sod_certificate')
  const signer = findSigned(candidates, (candidate) => verifySignedWith(signed, candidate))
  if (signer === 'unsupported') return fail('algorithm_unsupported')
  if (signer === 'not_signed') return fail('sod_signature')

  // 5. A trusted country certificate has the name of the issuer, and its key signed the
  //    certificate.
  const issuers = trust.issuersOf(signer)
  if (issuers.length === 0) return fail('csca_unknown')
  const issuer = findSigned(issuers, (candidate) => verifyIssuedBy(signer, candidate))
  if (issuer === 'unsupported') return fail('algorithm_unsupported')
  if (issuer === 'not_signed') return fail('dsc_signature')

  // 6. The certificate is for signing documents, and not for master lists, visible digital seals or
  //    other certificates.
  if (
    !maySign(signer) ||
    hasUnsupportedCriticalExtension(signer) ||
    purposesOf(signer) !== undefined
  )
    return fail('dsc_usage')

  // 7. It was valid at signing time, and its issuer at issuing time.
  if (!isValidAtSigning(signer, signingTime(signed), now) || !isValidAt(issuer, signer.notBefore))
    return fail('dsc_validity')

  return accept({ ...object, country: countryOf(signer) })
}

/** Steps 8 to 11: the data groups match the security object, and name its state. */
export function verifyDataGroups(
  input: Pick<PassiveAuthenticationInput, 'dg1' | 'dg14' | 'dg15'>,
  { object, now }: { object: AuthenticSecurityObject; now: Instant },
): PassiveResult<AuthenticDocument> {
  const dg1 = bufferOf(input.dg1)
  const [dg14, dg15] = [input.dg14 && bufferOf(input.dg14), input.dg15 && bufferOf(input.dg15)]
  // 8. Each listed data group has the hash that the state signed.
  const matches = (number: number, group: Buffer | undefined) => {
    const hash = object.hashes.get(number)
    return (
      hash === undefined ||
      group === undefined ||
      hash.equals(createHash(object.digest).update(group).digest())
    )
  }
  if (!matches(1, dg1) || !matches(14, dg14) || !matches(15, dg15)) return fail('dg_hash')
  if (!object.hashes.has(1)) return fail('dg1_missing')

  // 9. The machine-readable zone, and its check digits.
  const zone = contentOf(contentOf(dg1, FILE_TAG.dg1) ?? Buffer.alloc(0), MRZ_TAG)
  const mrz = readMrz(zone?.toString('latin1') ?? '')
  if (mrz === undefined) return fail('mrz')

  // 10. The zone names the state of the certificate: a country signs only its own documents.
  if (object.country === undefined || !isCountryOf(mrz.issuingState, object.country))
    return fail('country')

  // 11. The document has not expired.
  if (now >= mrz.expiresAt) return fail('expired')

  const isListed = (number: number) => object.hashes.has(number)
  return accept({
    mrz,
    listed: {
      ...(dg14 && isListed(14) ? { dg14 } : {}),
      ...(dg15 && isListed(15) ? { dg15 } : {}),
    },
  })
}

/**
 * Doc 9303-12 gives a signer's certificate the lifetime of its documents, so without a signing time
 * the current time counts.
 */
function isValidAtSigning(
  signer: Certificate,
  signedAt: Instant | undefined,
  now: Instant,
): boolean {
  return isValidAt(signer, signedAt ?? now) && (signedAt ?? now) <= now
}
