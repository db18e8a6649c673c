import { createHash } from 'node:crypto'
import type { Instant } from '../../../domain/session.ts'
import { type Certificate, isValidAt } from '../x509/certificate.ts'
import { purposesOf } from '../x509/extensions.ts'
import { asksForMore, countryOf, isIssuedBy, maySign } from './certificate.ts'
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
  isSignedWith,
  readSignedDocument,
  signerCandidates,
  signingTime,
} from './signed-document.ts'
import { type Checked, found, no, type PassiveStep } from './step.ts'
import type { CountryTrust } from './trust.ts'

/** A security object that a trusted state has signed. */
export interface AuthenticSecurityObject extends SecurityObject {
  /** Of the certificate that signed it: two letters. */
  readonly country: string | undefined
}

/** Passive authentication of EF.SOD (Doc 9303-11, section 5.1; Doc 9303-10, section 4.6; Doc 9303-12, section 7). */
export function authenticateSecurityObject(
  sod: Buffer,
  { trust, now }: { trust: CountryTrust; now: Instant },
): Checked<AuthenticSecurityObject, PassiveStep> {
  // 1. EF.SOD holds CMS SignedData. Some readers have already taken the file's own tag off.
  const unwrapped = sod[0] === FILE_TAG.sod ? contentOf(sod, FILE_TAG.sod) : sod
  if (unwrapped === undefined || unwrapped.length === 0) return no('sod_unwrap')
  const signed = readSignedDocument(unwrapped)
  if (signed === undefined) return no('sod_signed_data')

  // 2. What is signed is an LDS security object.
  const object = SECURITY_OBJECT_TYPES.includes(signed.contentType)
    ? readSecurityObject(signed.content)
    : undefined
  if (object === undefined) return no('lds_security_object')

  // 3. The signed attributes are about this content: its type and its digest.
  if (!coversContent(signed)) return no('message_digest')

  // 4. The document signer's certificate is in the file, and its key signed the attributes.
  const candidates = signerCandidates(signed)
  if (candidates.length === 0) return no('sod_certificate')
  const signer = candidates.find((candidate) => isSignedWith(signed, candidate))
  if (signer === undefined) return no('sod_signature')

  // 5. A country's certificate that is trusted bears the name of its issuer, and its key signed the certificate.
  const issuers = trust.issuersOf(signer)
  if (issuers.length === 0) return no('csca_unknown')
  const issuer = issuers.find((candidate) => isIssuedBy(signer, candidate))
  if (issuer === undefined) return no('dsc_signature')

  // 6. The certificate is for signing documents: not for master lists, visible seals or other certificates.
  if (!maySign(signer) || asksForMore(signer) || purposesOf(signer) !== undefined)
    return no('dsc_usage')

  // 7. It was valid when it signed, as far as that is known, and its issuer when it issued it.
  if (!isValidAtSigning(signer, signingTime(signed), now) || !isValidAt(issuer, signer.notBefore))
    return no('dsc_validity')

  return found({ ...object, country: countryOf(signer) })
}

/** The data groups that came along, as they were read from the chip. */
export interface DataGroups {
  readonly dg1: Buffer
  readonly dg14?: Buffer | undefined
  readonly dg15?: Buffer | undefined
}

/** A document that its state vouches for, and that can be used now. */
export interface AuthenticDocument {
  readonly mrz: Mrz
  /** Only what the state has listed: a data group that it has not is as good as absent. */
  readonly listed: { readonly dg14?: Buffer; readonly dg15?: Buffer }
}

/** The rest of passive authentication: what was read from the chip is what the state has signed, and names this state. */
export function authenticateDataGroups(
  groups: DataGroups,
  { object, now }: { object: AuthenticSecurityObject; now: Instant },
): Checked<AuthenticDocument, PassiveStep> {
  // 8. Each data group that is listed has the hash that the state signed.
  const matches = (number: number, group: Buffer | undefined) => {
    const hash = object.hashes.get(number)
    return (
      hash === undefined ||
      group === undefined ||
      hash.equals(createHash(object.digest).update(group).digest())
    )
  }
  if (!matches(1, groups.dg1) || !matches(14, groups.dg14) || !matches(15, groups.dg15))
    return no('dg_hash')
  if (!object.hashes.has(1)) return no('dg1_missing')

  // 9. The machine-readable zone, and its check digits.
  const zone = contentOf(contentOf(groups.dg1, FILE_TAG.dg1) ?? Buffer.alloc(0), MRZ_TAG)
  const mrz = readMrz(zone?.toString('latin1') ?? '')
  if (mrz === undefined) return no('mrz')

  // 10. The state that it names is that of the certificate: no country signs another one's documents.
  if (object.country === undefined || !isCountryOf(mrz.issuingState, object.country))
    return no('country')

  // 11. The document has not expired.
  if (now >= mrz.expiresAt) return no('expired')

  const { dg14, dg15 } = groups
  const isListed = (number: number) => object.hashes.has(number)
  return found({
    mrz,
    listed: {
      ...(dg14 && isListed(14) ? { dg14 } : {}),
      ...(dg15 && isListed(15) ? { dg15 } : {}),
    },
  })
}

/** Doc 9303-12 gives a signer's certificate the life of its documents; so where no signing time is told, now must do. */
function isValidAtSigning(
  signer: Certificate,
  signedAt: Instant | undefined,
  now: Instant,
): boolean {
  return isValidAt(signer, signedAt ?? now) && (signedAt ?? now) <= now
}
