import { splitMap } from '../cbor/split-map.ts'
import { bytesOf, decodeCbor } from '../cbor/strict-cbor.ts'

/** What iOS 27 states about the running app, under the key's signature. */
export interface Extensions {
  readonly category: number | undefined
  readonly bundleVersion: string | undefined
}

/** The two members take 66 bytes; macOS adds a code hash. */
const MAX_EXTENSIONS_BYTES = 1_024
const MAX_BUNDLE_VERSION_CHARACTERS = 128

/**
 * Reads what follows the fixed part of authenticator data: nothing before iOS 27, or exactly one
 * map. The bytes decide whether the map is there, never the flag: of two phones with the map, one
 * sets the flag and one does not. Unknown members are skipped whatever their type, because an
 * update of iOS may add some and must not lock out every phone.
 */
export function readExtensions(bytes: Buffer): Extensions | undefined {
  if (bytes.length === 0) return { category: undefined, bundleVersion: undefined }
  const members = bytes.length > MAX_EXTENSIONS_BYTES ? undefined : splitMap(bytes)
  if (members === undefined) return undefined
  const values = new Map<string, unknown>()
  for (const { key, value } of members) {
    const name = decodeCbor(key)
    if (typeof name !== 'string') {
      // A known name in another encoding, with a tag or in a list, is not an unknown member.
      if (isText(key) || KNOWN.some((known) => key.includes(known))) return undefined
    } else if (KNOWN.includes(name)) values.set(name, decodeCbor(value))
  }
  const category = values.has(CATEGORY) ? categoryOf(values.get(CATEGORY)) : undefined
  const bundleVersion = values.get(BUNDLE_VERSION)
  if (category === 'unreadable') return undefined
  if (!values.has(BUNDLE_VERSION)) return { category, bundleVersion: undefined }
  if (typeof bundleVersion !== 'string' || bundleVersion.length > MAX_BUNDLE_VERSION_CHARACTERS)
    return undefined
  return { category, bundleVersion }
}

const CATEGORY = 'apple_validation_category_01'
const BUNDLE_VERSION = 'apple_bundle_version_01'
const KNOWN: readonly string[] = [CATEGORY, BUNDLE_VERSION]

const TEXT_MAJOR_TYPE = 3

function isText(key: Buffer): boolean {
  return key.readUInt8() >> 5 === TEXT_MAJOR_TYPE
}

/**
 * Phones write four little-endian bytes. Apple documents a UInt32, so CBOR integers are accepted.
 */
function categoryOf(value: unknown): number | 'unreadable' {
  const bytes = bytesOf(value)
  if (bytes !== undefined) return bytes.length === 4 ? bytes.readUInt32LE() : 'unreadable'
  return typeof value === 'number' && value >= 0 && value <= 0xffff_ffff ? value : 'unreadable'
}
