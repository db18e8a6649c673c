import { hash, type KeyObject, randomBytes } from 'node:crypto'
import { bits, element, explicit, integer, octets, oid, sequence, set, text, time, yes } from './mint/der.ts'
import { makePassportSigner, type PassportSignatureWish, type PassportSigner, USUAL_SIGNATURE } from './passport-signer.ts'

/** A made-up state: the country certificate that a sandbox is told to trust, and the key below it that signs documents. */
export interface PassportAuthority {
  /** Two letters. `UT` is Utopia, which Doc 9303 keeps for specimens. */
  readonly country: string
  /** DER. */
  readonly countryCertificate: Buffer
  readonly signerCertificate: Buffer
  readonly signer: PassportSigner
  /** Issues another certificate: for a signer of master lists, or one that should not be. */
  issue(wish: IssueWish): Buffer
}

export interface IssueWish {
  readonly publicKey: KeyObject
  readonly name: string
  readonly country?: string
  readonly notBefore: number
  readonly notAfter: number
  /** Whether it may issue others in its turn. */
  readonly authority?: boolean
  /** Purposes that it is limited to, as identifiers. */
  readonly purposes?: readonly string[]
}

export interface PassportAuthorityWish {
  readonly country?: string
  readonly countrySignature?: PassportSignatureWish
  readonly documentSignature?: PassportSignatureWish
  /** Of the document signer, where they should be odd. */
  readonly signerValidity?: { readonly notBefore: number; readonly notAfter: number }
}

const DAY_MS = 86_400_000
/** As Doc 9303-12 has it: keys sign for years, and their certificates outlive the documents. */
const COUNTRY_YEARS = 15
const SIGNER_YEARS = 11
const YEAR_MS = 365 * DAY_MS

/** A new state. Its keys end with the process. */
export function makePassportAuthority(now: number, wish: PassportAuthorityWish = {}): PassportAuthority {
  const { country = 'UT', countrySignature = USUAL_SIGNATURE, documentSignature = USUAL_SIGNATURE } = wish
  const root = makePassportSigner(countrySignature)
  const signer = makePassportSigner(documentSignature)
  const issuer = nameOf({ country, name: 'Simulated Country Signing CA' })
  const certify = (of: IssueWish, subject: Buffer) => certificateOf(of, { subject, issuer, root })
  const issue = (of: IssueWish) => certify(of, nameOf({ country: of.country ?? country, name: of.name }))
  const validity = wish.signerValidity ?? { notBefore: now - DAY_MS, notAfter: now + SIGNER_YEARS * YEAR_MS }
  return {
    country,
    signer,
    issue,
    countryCertificate: certify(
      { publicKey: root.publicKey, name: '', notBefore: now - YEAR_MS, notAfter: now + COUNTRY_YEARS * YEAR_MS, authority: true },
      issuer,
    ),
    signerCertificate: issue({ publicKey: signer.publicKey, name: 'Simulated Document Signer', ...validity }),
  }
}

const USAGE = { authority: bits(Buffer.of(0x06), 1), signer: bits(Buffer.of(0x80), 7) } as const
const SERIAL_BYTES = 9

function certificateOf(wish: IssueWish, { subject, issuer, root }: { subject: Buffer; issuer: Buffer; root: PassportSigner }): Buffer {
  const extensions = [
    sequence(oid('2.5.29.14'), octets(octets(keyId(wish.publicKey)))),
    sequence(oid('2.5.29.35'), octets(sequence(element(0x80, keyId(root.publicKey))))),
    sequence(oid('2.5.29.15'), yes(), octets(wish.authority === true ? USAGE.authority : USAGE.signer)),
    ...(wish.authority === true ? [sequence(oid('2.5.29.19'), yes(), octets(sequence(yes(), integer(0))))] : []),
    ...(wish.purposes === undefined ? [] : [sequence(oid('2.5.29.37'), yes(), octets(sequence(...wish.purposes.map(oid))))]),
  ]
  const body = sequence(
    explicit(0, integer(2)),
    // The first bit must not be set, or the number would be negative.
    element(0x02, Buffer.concat([Buffer.of(0x01), randomBytes(SERIAL_BYTES)])),
    root.algorithm,
    issuer,
    sequence(time(wish.notBefore), time(wish.notAfter)),
    subject,
    wish.publicKey.export({ format: 'der', type: 'spki' }),
    explicit(3, sequence(...extensions)),
  )
  return sequence(body, root.algorithm, bits(root.sign(body)))
}

function keyId(key: KeyObject): Buffer {
  return hash('sha1', key.export({ format: 'der', type: 'spki' }), 'buffer')
}

/** Country as a PrintableString, as Doc 9303-12 wants it. */
function nameOf({ country, name }: { country: string; name: string }): Buffer {
  const part = (type: string, value: Buffer) => set(sequence(oid(type), value))
  return sequence(part('2.5.4.6', element(0x13, Buffer.from(country))), part('2.5.4.10', text('Simulated')), part('2.5.4.3', text(name)))
}
