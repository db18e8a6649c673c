import { hash, type KeyObject } from 'node:crypto'
import {
  authority,
  certifyBy,
  type CertificateExtension,
  keyUsage,
  type Name,
  newSerial,
  SIGNS_CERTIFICATES,
} from '../test-pki/certificate.ts'
import { element, octets, oid, sequence } from '../test-pki/der.ts'
import {
  createPassportSigner,
  type PassportSignatureOptions,
  type PassportSigner,
  USUAL_SIGNATURE,
} from './signer.ts'

/** A test state: its country certificate, which a sandbox trusts, and its document signer. */
export interface PassportAuthority {
  /** Two letters. `UT` is Utopia, which Doc 9303 reserves for specimens. */
  readonly country: string
  /** DER. */
  readonly countryCertificate: Buffer
  readonly signerCertificate: Buffer
  readonly signer: PassportSigner
  /** Issues another certificate, for example for a signer of master lists. */
  issue(options: IssueOptions): Buffer
}

export interface IssueOptions {
  readonly publicKey: KeyObject
  readonly name: string
  readonly country?: string
  readonly notBefore: number
  readonly notAfter: number
  /** Whether the certificate may issue others. */
  readonly authority?: boolean
  /** Extended key usages, as object identifiers. */
  readonly purposes?: readonly string[]
}

export interface PassportAuthorityOptions {
  readonly country?: string
  readonly countrySignature?: PassportSignatureOptions
  readonly documentSignature?: PassportSignatureOptions
  /** Validity of the document signer. By default from one day ago, for 11 years. */
  readonly signerValidity?: { readonly notBefore: number; readonly notAfter: number }
}

const DAY_MS = 86_400_000
/** Doc 9303-12: keys sign for years, and their certificates outlive the documents. */
const COUNTRY_YEARS = 15
const SIGNER_YEARS = 11
const YEAR_MS = 365 * DAY_MS

/** Creates a state. Its keys exist only in this process. */
export function createPassportAuthority(
  now: number,
  options: PassportAuthorityOptions = {},
): PassportAuthority {
  const {
    country = 'UT',
    countrySignature = USUAL_SIGNATURE,
    documentSignature = USUAL_SIGNATURE,
  } = options
  const root = createPassportSigner(countrySignature)
  const signer = createPassportSigner(documentSignature)
  const issuer = nameOf({ country, name: 'Simulated Country Signing CA' })
  const certify = (options: IssueOptions, subject: Name) =>
    certificateOf(options, { subject, issuer, root })
  const issue = (options: IssueOptions) =>
    certify(options, nameOf({ country: options.country ?? country, name: options.name }))
  const validity = options.signerValidity ?? {
    notBefore: now - DAY_MS,
    notAfter: now + SIGNER_YEARS * YEAR_MS,
  }
  return {
    country,
    signer,
    issue,
    countryCertificate: certify(
      {
        publicKey: root.publicKey,
        name: '',
        notBefore: now - YEAR_MS,
        notAfter: now + COUNTRY_YEARS * YEAR_MS,
        authority: true,
      },
      issuer,
    ),
    signerCertificate: issue({
      publicKey: signer.publicKey,
      name: 'Simulated Document Signer',
      ...validity,
    }),
  }
}

const SIGNS_DOCUMENTS = keyUsage(0x80, 7)

function certificateOf(
  options: IssueOptions,
  { subject, issuer, root }: { subject: Name; issuer: Name; root: PassportSigner },
): Buffer {
  const { publicKey, notBefore, notAfter, purposes } = options
  const extensions: CertificateExtension[] = [
    { id: '2.5.29.14', value: octets(keyId(publicKey)) },
    { id: '2.5.29.35', value: sequence(element(0x80, keyId(root.publicKey))) },
    ...(options.authority === true ? [SIGNS_CERTIFICATES, authority(0)] : [SIGNS_DOCUMENTS]),
    ...(purposes === undefined
      ? []
      : [{ id: '2.5.29.37', critical: true, value: sequence(...purposes.map(oid)) }]),
  ]
  return certifyBy(root, {
    serial: newSerial(),
    subject,
    issuer,
    publicKey,
    notBefore,
    notAfter,
    extensions,
  })
}

function keyId(key: KeyObject): Buffer {
  return hash('sha1', key.export({ format: 'der', type: 'spki' }), 'buffer')
}

function nameOf({ country, name }: { country: string; name: string }): Name {
  return [
    ['country', country],
    ['organization', 'Simulated'],
    ['commonName', name],
  ]
}
