import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import {
  type CertificateExtension,
  type CertificateOptions,
  certify,
  der,
  createCertificate,
  notAuthority,
  pemOf,
} from '@bonded/simulator'
import { trustAnchor } from '../../src/apple/certificate-chain.ts'
import { type AppReceiptInput, verifyAppReceipt } from '../../src/apple/verify-receipt.ts'
import {
  createCms,
  signerIdOf,
  type SignedDataOptions,
  type SignerOptions,
} from '../cms/test-cms.ts'

const { integer, nothing, octets, sequence, setOf } = der

export const NOW = Date.parse('2026-11-21T09:30:00.000Z')
export const SECOND_MS = 1_000
export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000
export const DATA = '1.2.840.113549.1.7.1'
export const RECEIPT_SIGNER = '1.2.840.113635.100.12.15'
export const MARK: CertificateExtension = { id: RECEIPT_SIGNER, value: nothing() }

export const keys = (namedCurve: 'P-256' | 'P-384' = 'P-256') =>
  generateKeyPairSync('ec', { namedCurve })
export const [root, issuer, otherAuthority] = [keys('P-384'), keys('P-384'), keys('P-384')]
export const [signer, phone, unrelated] = [keys(), keys(), keys()]

export const [byRoot, byIssuer] = [
  { name: 'Root', privateKey: root.privateKey },
  { name: 'Issuer', privateKey: issuer.privateKey },
]
export const common = { notBefore: NOW - DAY_MS, notAfter: NOW + DAY_MS } as const
export const rootCertificate = (options: Partial<CertificateOptions> = {}) =>
  createCertificate({
    ...common,
    subject: 'Root',
    publicKey: root.publicKey,
    issuer: byRoot,
    digest: 'sha384',
    authority: true,
    ...options,
  })
export const issuerCertificate = (options: Partial<CertificateOptions> = {}) =>
  createCertificate({
    ...common,
    subject: 'Issuer',
    publicKey: issuer.publicKey,
    issuer: byRoot,
    digest: 'sha384',
    authority: true,
    ...options,
  })
export const signerCertificate = (options: Partial<CertificateOptions> = {}) =>
  createCertificate({
    ...common,
    subject: 'Signer',
    publicKey: signer.publicKey,
    issuer: byIssuer,
    digest: 'sha256',
    authority: false,
    extensions: { [RECEIPT_SIGNER]: nothing() },
    ...options,
  })
/** A certificate of a phone's key: from the same issuer, without the receipt signer extension. */
export const keyCertificate = (publicKey: KeyObject) =>
  signerCertificate({ subject: 'Key', publicKey, extensions: { '1.2.3.4': nothing() } })

export const [ROOT, ISSUER, SIGNER] = [rootCertificate(), issuerCertificate(), signerCertificate()]
export const ANCHORS = [trustAnchor(pemOf(ROOT), 'sandbox')]
export const clientDataHash = hash('sha256', 'challenge', 'buffer')
export const FACTS: Omit<AppReceiptInput, 'receipt'> = {
  appId: 'TEAM123456.example.bank',
  publicKey: phone.publicKey.export({ format: 'der', type: 'spki' }),
  environment: 'production',
  clientDataHash,
  now: NOW,
}

export const iso = (instant: number) => new Date(instant).toISOString()
export type Fields = Readonly<Record<number, Uint8Array | string | undefined>>
export const FIELDS: Fields = {
  2: FACTS.appId,
  3: keyCertificate(phone.publicKey),
  4: clientDataHash,
  // An unknown field.
  5: 'a token',
  6: 'ATTEST',
  7: 'production',
  12: iso(NOW - MINUTE_MS),
  19: iso(NOW - MINUTE_MS),
  21: iso(NOW + DAY_MS),
}
export const field = (number: number, value: Uint8Array | string) =>
  sequence(integer(number), integer(1), octets(value))
/** Encodes the content of a receipt with changed fields. Undefined omits a field. */
export const contentOf = (change: Fields = {}, ...more: readonly Buffer[]) =>
  setOf(
    ...Object.entries({ ...FIELDS, ...change }).flatMap(([number, value]) =>
      value === undefined ? [] : [field(Number(number), value)],
    ),
    ...more,
  )

export interface Tampered {
  readonly data?: Partial<SignedDataOptions>
  readonly signer?: Partial<SignerOptions>
  readonly content?: Uint8Array
  readonly facts?: Partial<AppReceiptInput>
  readonly anchors?: Parameters<typeof verifyAppReceipt>[1]
}
export const CONTENT = contentOf()
export const HONEST: SignerOptions = { signerId: signerIdOf(SIGNER), key: signer.privateKey }
export const receiptOf = ({ data, signer: options, content = CONTENT }: Tampered) =>
  createCms({
    version: 1,
    contentType: DATA,
    content,
    certificates: [SIGNER, ISSUER, ROOT],
    signers: [{ ...HONEST, ...options }],
    ...data,
  })
export const judge = (tampered: Tampered = {}) =>
  verifyAppReceipt(
    { ...FACTS, receipt: receiptOf(tampered), ...tampered.facts },
    tampered.anchors ?? ANCHORS,
  )
export const stepOf = (tampered: Tampered) => {
  const finding = judge(tampered)
  return finding.ok ? 'verified' : finding.step
}
/** Replaces the certificate of the signer, the issuer or the root. */
export const under = (one: { signer?: Buffer; issuer?: Buffer; root?: Buffer }): Tampered => {
  const [own = SIGNER, above = ISSUER, top = ROOT] = [one.signer, one.issuer, one.root]
  return {
    data: { certificates: [own, above] },
    signer: { signerId: signerIdOf(own) },
    anchors: [trustAnchor(pemOf(top), 'sandbox')],
  }
}

/** A receipt that the key of a phone signed. */
export function byKey({
  publicKey,
  privateKey,
}: {
  publicKey: KeyObject
  privateKey: KeyObject
}): Tampered {
  const certificate = keyCertificate(publicKey)
  return {
    data: { certificates: [certificate, ISSUER] },
    signer: { signerId: signerIdOf(certificate), key: privateKey },
  }
}

/** A receipt signer with an unknown critical extension. */
export function limited(): Buffer {
  return certify({
    ...common,
    serial: 7n,
    subject: [['commonName', 'Signer']],
    issuer: [['commonName', byIssuer.name]],
    issuerKey: issuer.privateKey,
    publicKey: signer.publicKey,
    extensions: [notAuthority, MARK, { id: '1.2.3.4', critical: true, value: nothing() }],
  })
}
