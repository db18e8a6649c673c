import { bytesOf, decodeCbor } from '../cbor/strict-cbor.ts'

/** What iOS 27 says of the running app, under the key's signature. */
export interface Extensions {
  readonly category: number | undefined
  readonly bundleVersion: string | undefined
}

/** The two members take 66 bytes; macOS adds a code hash. */
const MAX_EXTENSIONS_BYTES = 1_024
const MAX_BUNDLE_VERSION_CHARACTERS = 128

/**
 * What follows the fixed part of authenticator data: nothing before iOS 27, or exactly one map. Its presence is
 * told by its bytes, never by the flag: of two phones with the map one sets it and one does not.
 */
export function readExtensions(bytes: Buffer): Extensions | undefined {
  if (bytes.length === 0) return { category: undefined, bundleVersion: undefined }
  if (bytes.length > MAX_EXTENSIONS_BYTES) return undefined
  const map = decodeCbor(bytes)
  if (!(map instanceof Map) || ![...map.keys()].every((key) => typeof key === 'string'))
    return undefined
  // Members that are not known here are signed too, and mean nothing.
  const category = map.has('apple_validation_category_01')
    ? categoryOf(map.get('apple_validation_category_01'))
    : undefined
  const bundleVersion: unknown = map.get('apple_bundle_version_01')
  if (category === 'unreadable') return undefined
  if (bundleVersion === undefined) return { category, bundleVersion }
  if (typeof bundleVersion !== 'string' || bundleVersion.length > MAX_BUNDLE_VERSION_CHARACTERS)
    return undefined
  return { category, bundleVersion }
}

/** Phones write four bytes, the least significant first; Apple's text says a UInt32, so a CBOR integer is one too. */
function categoryOf(value: unknown): number | 'unreadable' {
  const bytes = bytesOf(value)
  if (bytes !== undefined) return bytes.length === 4 ? bytes.readUInt32LE() : 'unreadable'
  return typeof value === 'number' && value >= 0 && value <= 0xffff_ffff ? value : 'unreadable'
}
