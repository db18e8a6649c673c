import { hash, type KeyObject } from 'node:crypto'
import { encodeCbor } from '../test-pki/cbor.ts'
import { coordinatesOf, credentialOf, headerOf } from '../webauthn/authenticator-data.ts'

/** The extensions that iOS 27 adds. Earlier versions add none. */
export interface AppExtensions {
  /** 4 is the App Store, 3 a development build. */
  readonly category: number
  readonly bundleVersion: string
}

/** Flags of phones with and without extensions. */
const FLAGS = { extended: 0xc0, plain: 0x40 } as const
const AAGUID = {
  development: Buffer.from('appattestdevelop'),
  production: Buffer.from('appattest\0\0\0\0\0\0\0'),
} as const

/** The authenticator data of an assertion. */
export function assertedData(fields: {
  appId: string
  counter: number
  extensions: AppExtensions | undefined
}): Buffer {
  return Buffer.concat([appHeaderOf(fields), extensionMap(fields.extensions)])
}

/** The authenticator data of an attestation: with the credential, and with a counter at 0. */
export function attestedData(fields: {
  appId: string
  environment: 'development' | 'production'
  publicKey: KeyObject
  extensions: AppExtensions | undefined
}): Buffer {
  const credential = credentialOf({
    aaguid: AAGUID[fields.environment],
    id: keyIdOf(fields.publicKey),
    publicKey: fields.publicKey,
  })
  return Buffer.concat([
    appHeaderOf({ ...fields, counter: 0 }),
    credential,
    extensionMap(fields.extensions),
  ])
}

/** Returns the App Attest key id: SHA-256 of the uncompressed point. */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const { x, y } = coordinatesOf(publicKey)
  return hash('sha256', Buffer.concat([Buffer.of(4), x, y]), 'buffer')
}

function appHeaderOf({
  appId,
  counter,
  extensions,
}: {
  appId: string
  counter: number
  extensions: AppExtensions | undefined
}): Buffer {
  return headerOf({
    appId,
    counter,
    flags: extensions === undefined ? FLAGS.plain : FLAGS.extended,
  })
}

function extensionMap(extensions: AppExtensions | undefined): Buffer {
  if (extensions === undefined) return Buffer.alloc(0)
  const category = Buffer.alloc(4)
  category.writeUInt32LE(extensions.category)
  const map = new Map<string, string | Uint8Array>([
    ['apple_bundle_version_01', extensions.bundleVersion],
    ['apple_validation_category_01', category],
  ])
  return encodeCbor(map)
}
