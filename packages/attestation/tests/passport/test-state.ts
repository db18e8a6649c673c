import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import { authority, type CertificateExtension, certify, der, type Name } from '@bonded/simulator'
import {
  attributesOf,
  type CmsDigest,
  createCms,
  signerIdOf,
  type SignedDataOptions,
  type SignerOptions,
} from '../cms/test-cms.ts'

const { bits, element, integer, octets, oid, sequence } = der

export interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}
export const newKeys = (namedCurve = 'P-256'): Keys => generateKeyPairSync('ec', { namedCurve })

/** Bits of KeyUsage, as states write them. */
export const USAGE = { signs: 0x80, certifies: 0x06, both: 0x86, enciphers: 0x20 } as const
export const nameIn = (country: string | undefined, commonName: string): Name => [
  ...(country === undefined ? [] : [['country', country] as const]),
  ['commonName', commonName],
]

export interface StateCertificateOptions {
  readonly publicKey: KeyObject
  readonly subject: Name
  readonly issuer: Name
  readonly issuerKey: KeyObject
  readonly notBefore: number
  readonly notAfter: number
  /** Undefined where the certificate says nothing of it. */
  readonly usage: number | undefined
  readonly isAuthority?: boolean
  readonly purposes?: readonly string[] | undefined
  readonly more?: readonly CertificateExtension[]
}

export const keyIdOf = (key: KeyObject) =>
  hash('sha1', key.export({ format: 'der', type: 'spki' }), 'buffer')

let serial = 1n

/** A certificate of a state, as honest as it is requested to be. */
function stateCertificate({
  usage,
  isAuthority = false,
  purposes,
  more = [],
  ...options
}: StateCertificateOptions): Buffer {
  serial += 1n
  return certify({
    ...options,
    serial,
    extensions: [
      { id: '2.5.29.14', value: octets(keyIdOf(options.publicKey)) },
      ...(usage === undefined
        ? []
        : [{ id: '2.5.29.15', critical: true, value: bits(Buffer.of(usage)) }]),
      ...(isAuthority ? [authority(0)] : []),
      ...(purposes === undefined
        ? []
        : [{ id: '2.5.29.37', critical: true, value: sequence(...purposes.map(oid)) }]),
      ...more,
    ],
  })
}

const DAY_MS = 86_400_000

/**
 * A state with the one signer below it, and certificates of theirs that differ in what is
 * requested.
 */
export function createTestState(now: number, ofSigner: Partial<StateCertificateOptions> = {}) {
  const [state, signer] = [newKeys(), newKeys()]
  const issued = { issuer: nameIn('UT', 'State'), issuerKey: state.privateKey }
  const stateWith = (options: Partial<StateCertificateOptions> = {}) =>
    stateCertificate({
      ...issued,
      publicKey: state.publicKey,
      subject: issued.issuer,
      notBefore: now - 100 * DAY_MS,
      notAfter: now + 100 * DAY_MS,
      usage: USAGE.certifies,
      isAuthority: true,
      ...options,
    })
  const signerWith = (options: Partial<StateCertificateOptions> = {}) =>
    stateCertificate({
      ...issued,
      publicKey: signer.publicKey,
      subject: nameIn('UT', 'Signer'),
      notBefore: now - 10 * DAY_MS,
      notAfter: now + 10 * DAY_MS,
      usage: USAGE.signs,
      ...ofSigner,
      ...options,
    })
  return { state, signer, stateWith, signerWith }
}

/**
 * What a state signs: its attributes cover type and content, unless another signer is requested.
 */
export function signedByState(of: {
  contentType: string
  content: Buffer
  certificate: Buffer
  key: KeyObject
  data?: Partial<SignedDataOptions> | undefined
  signer?: Partial<SignerOptions> | undefined
}): Buffer {
  const { contentType, content, certificate, key, data, signer } = of
  const honest: SignerOptions = {
    signerId: signerIdOf(certificate),
    key,
    signedAttributes: attributesOf(contentType, content),
  }
  return createCms({
    contentType,
    content,
    certificates: [certificate],
    signers: [{ ...honest, ...signer }],
    ...data,
  })
}

/** An LDS security object: the digests of data groups by number. */
export function securityObject(
  algorithm: Buffer,
  ...hashes: readonly (readonly [number: number, hash: Uint8Array])[]
): Buffer {
  return sequence(
    integer(0),
    algorithm,
    sequence(...hashes.map(([number, hash]) => sequence(integer(number), octets(hash)))),
  )
}

export const hashesOf = (groups: Readonly<Record<number, Buffer>>, digest: CmsDigest = 'sha256') =>
  Object.entries(groups).map(
    ([number, group]) => [Number(number), hash(digest, group, 'buffer')] as const,
  )

export const dg1With = (zone: string) => element(0x61, element(0x5f1f, Buffer.from(zone)))
