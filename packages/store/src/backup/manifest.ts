import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { RootKey } from '@bonded/core/domain/root-keys'

/** A backup file that cannot be restored. The message is for the operator. */
export class BackupError extends Error {
  readonly code = 'backup_invalid'
  override readonly name = 'BackupError'
}

/** The stores that a backup can come from. */
export type BackupStore = 'sqlite' | 'postgresql'

/** What a backup file contains, as its sealed manifest says. */
export interface Manifest {
  readonly format: 1
  readonly store: BackupStore
  /** ISO 8601. Everything that the service acknowledged before this time is in the backup. */
  readonly created_at: string
  /** The version of bonded that wrote the file. */
  readonly version: string
  /** The number of the latest migration that was applied. */
  readonly schema: number
  /** The ids of the root keys that the service had. The keys themselves are not in the file. */
  readonly root_keys: readonly string[]
  /** The size of the payload, which starts the file. */
  readonly bytes: number
  /** SHA-256 of the payload, base64url. */
  readonly sha256: string
  /** The id of the root key that seals the manifest. */
  readonly sealed_with: string
}

/** Ends every backup file. The number is the version of the layout. */
const MAGIC = Buffer.from('BONDEDB1', 'latin1')
const MAC_BYTES = 32
const LENGTH_BYTES = 4
const FOOTER_BYTES = MAC_BYTES + LENGTH_BYTES + MAGIC.length
/** A manifest takes some 400 bytes; the rest is room for many root keys. */
const MAX_MANIFEST_BYTES = 64 * 1024

/**
 * The bytes that follow the payload: the manifest, its MAC under the root key, its length, and the
 * magic number. They are at the end, so that the payload is written in place.
 */
export function sealManifest(manifest: Manifest, key: RootKey): Buffer {
  const text = Buffer.from(JSON.stringify(manifest))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(text.length)
  return Buffer.concat([text, macOf(text, key), length, MAGIC])
}

/**
 * Reads the manifest of a backup file and verifies its seal. The payload is not read.
 *
 * @throws {BackupError} if the file is not a backup, is incomplete, was sealed with a root key that
 * is
 *   not configured, or was changed
 */
export function readManifest(file: string, rootKeys: readonly RootKey[]): Manifest {
  const { text, mac, payloadBytes } = readFooter(file)
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.bytes !== payloadBytes) throw notABackup(file)
  const key = rootKeys.find(({ id }) => id === manifest.sealed_with)
  if (key === undefined)
    throw new BackupError(
      `${file} was sealed with root key ${JSON.stringify(manifest.sealed_with)}, which is not configured. A backup contains no root keys. Set BONDED_ROOT_KEYS to the keys of the service that wrote it, and try again.`,
    )
  if (!timingSafeEqual(macOf(text, key), mac))
    throw new BackupError(
      `The seal of ${file} does not match root key ${JSON.stringify(key.id)}. Either the file was changed, or this key is not the one of the service that wrote it. Check BONDED_ROOT_KEYS, or use another backup.`,
    )
  return manifest
}

function readFooter(file: string): { text: Buffer; mac: Buffer; payloadBytes: number } {
  const opened = openSync(file, 'r')
  try {
    const found = fstatSync(opened)
    if (!found.isFile()) throw notABackup(file)
    const { size } = found
    const read = (bytes: number, end: number): Buffer => {
      const start = end - bytes
      const buffer = Buffer.alloc(bytes)
      if (start < 0 || readSync(opened, buffer, 0, bytes, start) !== bytes) throw notABackup(file)
      return buffer
    }
    const footer = read(FOOTER_BYTES, size)
    if (!footer.subarray(-MAGIC.length).equals(MAGIC)) throw notABackup(file)
    const length = footer.readUInt32BE(MAC_BYTES)
    if (length > MAX_MANIFEST_BYTES) throw notABackup(file)
    return {
      text: read(length, size - FOOTER_BYTES),
      mac: footer.subarray(0, MAC_BYTES),
      payloadBytes: size - FOOTER_BYTES - length,
    }
  } finally {
    closeSync(opened)
  }
}

function notABackup(file: string): BackupError {
  return new BackupError(
    `${file} is not a complete backup of bonded. Usually the copy was cut off, or another program wrote the file. Copy it again, or use another backup.`,
  )
}

/** Only the shape. Its truth follows from the seal. */
function parseManifest(text: Buffer): Manifest | undefined {
  try {
    const found = JSON.parse(text.toString()) as Manifest
    const isManifest =
      found.format === 1 &&
      (found.store === 'sqlite' || found.store === 'postgresql') &&
      typeof found.sealed_with === 'string' &&
      Number.isSafeInteger(found.bytes)
    return isManifest ? found : undefined
  } catch {
    return undefined
  }
}

/** The purpose in the derivation separates this key from every other key of the root key. */
function macOf(text: Buffer, key: RootKey): Buffer {
  const derived = Buffer.from(hkdfSync('sha256', key.bytes, 'bonded-sessions/v1', 'backup', 32))
  return createHmac('sha256', derived).update(text).digest()
}
