import type { Certificate } from '../x509/certificate.ts'
import { keyIdOf } from '../x509/extensions.ts'
import { mayIssue } from './state-certificate.ts'

/** The country signing certificates that are trusted, found by name. */
export class CountryTrust {
  readonly #byName = new Map<string, Certificate[]>()

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
   * Those that bear the name of the certificate's issuer, the ones with the key it names first: a state renews its key
   * under the same name. Only the signature tells which it was.
   */
  issuersOf(certificate: Certificate): readonly Certificate[] {
    const wanted = keyIdOf(certificate, 'issuer')
    const namesKey = (issuer: Certificate) =>
      wanted !== undefined && keyIdOf(issuer, 'own')?.equals(wanted) === true
    const named = this.#byName.get(certificate.issuer.canonical) ?? []
    return [...named.filter(namesKey), ...named.filter((issuer) => !namesKey(issuer))].slice(
      0,
      MAX_TRIED,
    )
  }
}

/** China has issued under one name 14 times. */
const MAX_TRIED = 32
