import type { Certificate } from '../x509/certificate.ts'
import { keyIdOf } from '../x509/extensions.ts'
import { mayIssue } from './state-certificate.ts'

/**
 * The trusted country signing certificates, indexed by name.
 *
 * @example
 * import { CountryTrust, readStateCertificate } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * const root = readStateCertificate(sample.countryCertificate)
 * console.log(new CountryTrust([root]).issuersOf(root).length) // 1
 */
export class CountryTrust {
  readonly #byName = new Map<string, Certificate[]>()

  /** Ignores duplicates and certificates that may not issue others. */
  constructor(certificates: readonly Certificate[]) {
    const seen = new Set<string>()
    for (const certificate of certificates) {
      const encoded = certificate.encoded.toString('latin1')
      if (seen.has(encoded) || !mayIssue(certificate)) continue
      seen.add(encoded)
      const { canonical } = certificate.subject
      this.#byName.set(canonical, [...(this.#byName.get(canonical) ?? []), certificate])
    }
  }

  /**
   * Returns the candidates for the issuer of a certificate: those with the issuer's name, starting
   * with those that have the key identifier it names. A state renews its key under the same name,
   * so the signature decides.
   */
  issuersOf(certificate: Certificate): readonly Certificate[] {
    const issuerKeyId = keyIdOf(certificate, 'issuer')
    const hasKeyId = (issuer: Certificate) =>
      issuerKeyId !== undefined && keyIdOf(issuer, 'own')?.equals(issuerKeyId) === true
    const candidates = this.#byName.get(certificate.issuer.canonical) ?? []
    return [
      ...candidates.filter(hasKeyId),
      ...candidates.filter((issuer) => !hasKeyId(issuer)),
    ].slice(0, MAX_CANDIDATES)
  }
}

/** China has issued 14 certificates under one name. */
const MAX_CANDIDATES = 32
