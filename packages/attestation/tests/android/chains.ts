import { generateKeyPairSync } from 'node:crypto'
import {
  androidAppId,
  authority,
  certify,
  createAndroidAuthority,
  encodeKeyDescription,
  honestDescription,
  type KeyDescriptionFields,
  SIMULATED_APP,
  type Tags,
} from '@bonded/simulator'
import { KEY_DESCRIPTION } from '../../src/android/key-description.ts'
import type { AndroidPolicy } from '../../src/android/policy.ts'
import { attest, trustAt } from './trust.ts'

export const NOW = Date.parse('2026-11-21T09:30:00.000Z')
export const CHALLENGE = Buffer.alloc(32, 5)
export const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const ROOT_KEY = newKey().privateKey
export const AUTHORITY = createAndroidAuthority()
export const APP_ID = androidAppId(SIMULATED_APP)
export const APPS = [
  { package: SIMULATED_APP.package, certificateDigests: [APP_ID.split(':')[1] ?? ''] },
]
/**
 * The test root taken as a real one, so that what makes a device a sandbox one is the description
 * alone.
 */
export const TRUSTED: Partial<AndroidPolicy> = {
  roots: new Set([AUTHORITY.rootKeyDigest, createAndroidAuthority(ROOT_KEY).rootKeyDigest]),
  apps: APPS,
}

export async function register(
  chain: readonly Uint8Array[],
  policy: Partial<AndroidPolicy> = TRUSTED,
) {
  return attest(chain, CHALLENGE, trustAt(NOW, policy))
}

type Tamper = { readonly [Field in keyof KeyDescriptionFields]?: KeyDescriptionFields[Field] }

export function describe(
  tamper: Tamper = {},
  hardware: Tags = {},
  software: Tags = {},
): KeyDescriptionFields {
  const honest = honestDescription(CHALLENGE)
  return {
    ...honest,
    hardwareEnforced: { ...honest.hardwareEnforced, ...hardware },
    softwareEnforced: { ...honest.softwareEnforced, ...software },
    ...tamper,
  }
}

/** A chain whose leaf carries these bytes as its description. */
export function chainWith(value: Uint8Array, keys = chainKeys()): Buffer[] {
  const leaf = certify({ ...keys.leaf, extensions: [{ id: KEY_DESCRIPTION, value }] })
  return [leaf, keys.attestation, keys.root]
}

export const DATES = { notBefore: new Date('2020-01-01'), notAfter: new Date('2030-01-01') }
const ROOT_NAME = [['commonName', 'root']] as const
const ATTESTATION_NAME = [['serialNumber', 'aa']] as const
export function chainKeys(tamper: { attestation?: Partial<Parameters<typeof certify>[0]> } = {}) {
  const attestationKey = newKey().privateKey
  const root = certify({
    serial: 1n,
    subject: ROOT_NAME,
    issuer: ROOT_NAME,
    publicKey: ROOT_KEY,
    issuerKey: ROOT_KEY,
    ...DATES,
    extensions: [authority()],
  })
  const attestation = certify({
    serial: 0xabcdefn,
    subject: ATTESTATION_NAME,
    issuer: ROOT_NAME,
    publicKey: attestationKey,
    issuerKey: ROOT_KEY,
    ...DATES,
    extensions: [authority()],
    ...tamper.attestation,
  })
  const subject = tamper.attestation?.subject ?? ATTESTATION_NAME
  const key = newKey()
  const leaf = {
    serial: 1n,
    subject: [['commonName', 'leaf']] as const,
    issuer: subject,
    publicKey: key.publicKey,
    issuerKey: attestationKey,
    ...DATES,
  }
  return { root, attestation, leaf, key: key.privateKey }
}

export const honestExtension = { id: KEY_DESCRIPTION, value: encodeKeyDescription(describe()) }
