import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import {
  type AppExtensions,
  attestationObject,
  attestedData,
  attestKey,
  authority as mayIssue,
  certifyKey,
  type CertificateOptions,
  der,
  keyIdOf,
  createAppAttestAuthority,
  createCertificate,
  notAuthority,
  pemOf,
} from '@bonded/simulator'
import type { AppleApp } from '../../src/apple/app.ts'
import { appleTrust } from '../../src/apple/trust.ts'
import { readTlv } from '../../src/asn1/tlv.ts'
import { readExplicit, readSequence } from '../../src/asn1/values.ts'
import { verifyAppAttestation } from '../../src/apple/verify-attestation.ts'
import { anyBuildOf } from './recordings.ts'

export const NOW = Date.parse('2026-11-21T09:30:00.000Z')
export const DAY_MS = 86_400_000
export const APP_ID = 'TEAM123456.example.bank'
export const authority = createAppAttestAuthority(NOW)
export const clientDataHash = hash('sha256', 'challenge', 'buffer')
export const STORE: AppExtensions = { category: 4, bundleVersion: '7.1' }
export const PRODUCTION = { appId: APP_ID, environment: 'production', extensions: STORE } as const

export interface Tampered {
  readonly app?: Partial<AppleApp>
  readonly roots?: readonly string[]
  readonly now?: number
}

export const judge = async (
  object: Buffer,
  keyId: Buffer,
  { app, roots = [authority.root], now = NOW }: Tampered = {},
) =>
  verifyAppAttestation(
    { attestationObject: object, keyId, clientDataHash, now },
    appleTrust([{ ...anyBuildOf(APP_ID), ...app }], roots),
  )
export const stepOf = async (...given: Parameters<typeof judge>) => {
  const result = await judge(...given)
  return result.ok ? 'accepted' : result.step
}
export const registration = (of: Partial<Parameters<typeof attestKey>[0]> = {}) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { keyId, attestationObject } = attestKey(
    { ...PRODUCTION, ...of },
    { authority, privateKey, clientDataHash, now: NOW },
  )
  return [attestationObject, Buffer.from(keyId, 'base64')] as const
}
/** A registration with tampered authenticator data whose hash is in the certificate. */
export const tampered = (
  tamper: (data: Buffer) => Buffer,
  keys: { certified?: KeyObject; nonce?: Buffer } = {},
) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certified = keys.certified ?? publicKey
  const authenticatorData = tamper(attestedData({ ...PRODUCTION, publicKey }))
  const nonce =
    keys.nonce ?? hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const chain = certifyKey(authority, {
    publicKey: certified,
    keyId: keyIdOf(publicKey),
    nonce,
    now: NOW,
  })
  return [
    attestationObject({ chain, receipt: Buffer.alloc(0), authenticatorData }),
    keyIdOf(publicKey),
  ] as const
}
export const patched = (offset: number, bytes: Buffer) => (data: Buffer) =>
  Buffer.concat([data.subarray(0, offset), bytes, data.subarray(offset + bytes.length)])

export function constraintsOf(isAuthority: boolean): Buffer {
  const { id, value } = isAuthority ? mayIssue() : notAuthority
  return der.sequence(der.oid(id), der.boolean(true), der.octets(value))
}

export interface BodyTamper {
  readonly version?: Buffer
  readonly algorithm?: Buffer
  readonly extensions?: Buffer
  /** An additional extension. */
  readonly extension?: Buffer
}

/** Signs a certificate again with a changed body and the same key. */
export function signAgain(
  certificate: Buffer,
  key: KeyObject,
  { version, algorithm, extensions, extension }: BodyTamper,
): Buffer {
  const [body] = readSequence(readTlv(certificate))
  const parts = readSequence(body).map(({ whole }) => whole)
  const own = readSequence(readExplicit(readSequence(body)[7], 3)).map(({ whole }) => whole)
  const by = algorithm ?? parts[2] ?? Buffer.alloc(0)
  const extended =
    extensions ??
    der.explicit(3, der.sequence(...own, ...(extension === undefined ? [] : [extension])))
  const changed = der.sequence(
    ...parts
      .with(0, version ?? parts[0] ?? by)
      .with(2, by)
      .with(7, extended),
  )
  return der.sequence(changed, by, der.bits(sign('sha256', changed, key)))
}

/** A registration with its own root, issuer and leaf, each of which can be tampered with. */
export function underOwnChain(tamper: {
  root?: Partial<CertificateOptions>
  issuer?: Partial<CertificateOptions>
  leaf?: Partial<CertificateOptions>
  nonceHeads?: readonly [string, string]
  again?: (leaf: Buffer, issuerKey: KeyObject) => Buffer
  issuerAgain?: (issuer: Buffer, rootKey: KeyObject) => Buffer
}) {
  const [root, issuer, key] = (['P-384', 'P-384', 'P-256'] as const).map((namedCurve) =>
    generateKeyPairSync('ec', { namedCurve }),
  )
  assert.ok(root && issuer && key)
  const authenticatorData = attestedData({ ...PRODUCTION, publicKey: key.publicKey })
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  const common = {
    notBefore: NOW - DAY_MS,
    notAfter: NOW + DAY_MS,
    digest: 'sha384',
    authority: true,
  } as const
  const byRoot = { ...common, issuer: { name: 'Root', privateKey: root.privateKey } }
  const rootPem = pemOf(
    createCertificate({ ...byRoot, subject: 'Root', publicKey: root.publicKey, ...tamper.root }),
  )
  const createdIssuer = createCertificate({
    ...byRoot,
    subject: 'Issuer',
    publicKey: issuer.publicKey,
    ...tamper.issuer,
  })
  const issuerDer = tamper.issuerAgain?.(createdIssuer, root.privateKey) ?? createdIssuer
  // [1] { OCTET STRING(32) } in a SEQUENCE.
  const [before, after] = tamper.nonceHeads ?? ['3024a1220420', '']
  const extensions = {
    '1.2.840.113635.100.8.2': Buffer.concat([
      Buffer.from(before, 'hex'),
      nonce,
      Buffer.from(after, 'hex'),
    ]),
  }
  const byIssuer = {
    ...common,
    issuer: { name: 'Issuer', privateKey: issuer.privateKey },
    digest: 'sha256',
    authority: false,
  } as const
  const created = createCertificate({
    ...byIssuer,
    subject: 'Key',
    publicKey: key.publicKey,
    extensions,
    ...tamper.leaf,
  })
  const leaf =
    tamper.again?.(created, tamper.leaf?.issuer?.privateKey ?? issuer.privateKey) ?? created
  const object = attestationObject({
    chain: [leaf, issuerDer],
    receipt: Buffer.alloc(0),
    authenticatorData,
  })
  return [object, keyIdOf(key.publicKey), { roots: [rootPem] }] as const
}
