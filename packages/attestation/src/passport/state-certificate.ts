import { requireBytes } from '../arguments.ts'
import { type Certificate, readCertificate } from '../x509/certificate.ts'
import {
  EXTENSION,
  hasUnknownCriticalExtension,
  keyUsageOf,
  pathLengthOf,
  USAGE,
} from '../x509/extensions.ts'
import { ATTRIBUTE } from '../x509/name.ts'
import type { Verdict } from './ecdsa.ts'
import { verifySigned } from './signature.ts'

/**
 * Reads a certificate of a state, in BER: the states' encoders do not always write DER. Undefined
 * for one that cannot be read or has no names.
 *
 * @throws {TypeError} for anything but bytes, such as PEM: decode it first
 *
 * @example
 * import { readStateCertificate } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * console.log(readStateCertificate(sample.countryCertificate).version) // 3
 */
export function readStateCertificate(encoded: Uint8Array): Certificate | undefined {
  requireBytes({ encoded })
  const read = readCertificate(encoded, 'ber')
  return read === undefined ||
    read.issuer.attributes.size === 0 ||
    read.subject.attributes.size === 0
    ? undefined
    : read
}

/** Whether the issuer's key signed the certificate. */
export function verifyIssuedBy({ signed }: Certificate, issuer: Certificate): Verdict {
  return verifySigned(signed.algorithm, { ...signed, spki: issuer.publicKey })
}

/**
 * Whether it may issue certificates. The key usage decides, because the basic constraints of
 * Turkey's country certificate of 2021 do not mark it as an authority.
 *
 * @example
 * import { mayIssue, readStateCertificate } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * console.log(mayIssue(readStateCertificate(sample.countryCertificate))) // true
 */
export function mayIssue(certificate: Certificate): boolean {
  const usage = keyUsageOf(certificate)
  return usage === undefined ? isAuthority(certificate) : (usage & USAGE.certificateSigning) !== 0
}

/** Whether it may sign documents and is not an authority. */
export function maySign(certificate: Certificate): boolean {
  const usage = keyUsageOf(certificate)
  return usage === undefined
    ? !isAuthority(certificate)
    : (usage & USAGE.digitalSignature) !== 0 && (usage & USAGE.certificateSigning) === 0
}

function isAuthority(certificate: Certificate): boolean {
  return pathLengthOf(certificate) !== undefined
}

/** Critical extensions that this verifier processes. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  EXTENSION.keyUsage,
  EXTENSION.basicConstraints,
  EXTENSION.extendedKeyUsage,
  EXTENSION.certificatePolicies,
])

/** Whether a critical extension demands something that this verifier does not process. */
export function hasUnsupportedCriticalExtension(certificate: Certificate): boolean {
  return hasUnknownCriticalExtension(certificate, UNDERSTOOD)
}

/** Returns the country of the subject, or of the issuer: two upper-case letters. */
export function countryOf({ subject, issuer }: Certificate): string | undefined {
  return (subject.attributes.get(ATTRIBUTE.country) ?? issuer.attributes.get(ATTRIBUTE.country))
    ?.trim()
    .toUpperCase()
}
