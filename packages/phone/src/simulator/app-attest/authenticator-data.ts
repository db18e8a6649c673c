import { hash, type KeyObject } from 'node:crypto'
import { encodeCbor } from '../mint/cbor.ts'

/** What iOS 27 adds; earlier phones add nothing. */
export interface AppExtensions {
  /** 4 is the App Store, 3 a development build. */
  readonly category: number
  readonly bundleVersion: string
}

/** Flags of phones that add extensions, and of those before. */
const FLAGS = { extended: 0xc0, plain: 0x40 } as const
const AAGUID = { development: Buffer.from('appattestdevelop'), production: Buffer.from('appattest\0\0\0\0\0\0\0') } as const

/** The authenticator data of an assertion. */
export function assertedData(of: { appId: string; counter: number; extensions: AppExtensions | undefined }): Buffer {
  return Buffer.concat([headerOf(of), extensionMap(of.extensions)])
}

/** The authenticator data of an attestation: with the credential, and with a counter at 0. */
export function attestedData(of: {
  appId: string
  environment: 'development' | 'production'
  publicKey: KeyObject
  extensions: AppExtensions | undefined
}): Buffer {
  const { x, y } = coordinatesOf(of.publicKey)
  const key = new Map<number, number | Uint8Array>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, x],
    [-3, y],
  ])
  const credential = Buffer.concat([AAGUID[of.environment], Buffer.of(0, 32), keyIdOf(of.publicKey)])
  return Buffer.concat([headerOf({ ...of, counter: 0 }), credential, encodeCbor(key), extensionMap(of.extensions)])
}

/** SHA-256 of the key as an uncompressed point: App Attest's name of a key. */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const { x, y } = coordinatesOf(publicKey)
  return hash('sha256', Buffer.concat([Buffer.of(4), x, y]), 'buffer')
}

function headerOf(of: { appId: string; counter: number; extensions: AppExtensions | undefined }): Buffer {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(of.counter)
  return Buffer.concat([hash('sha256', of.appId, 'buffer'), Buffer.of(of.extensions === undefined ? FLAGS.plain : FLAGS.extended), counter])
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

function coordinatesOf(publicKey: KeyObject): { x: Buffer; y: Buffer } {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return { x: Buffer.from(x, 'base64url'), y: Buffer.from(y, 'base64url') }
}
