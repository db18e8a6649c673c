import { createHash, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { RootKey } from '@bonded/core/domain/root-keys'
import { Cleanup } from './cleanup.ts'
import { BackupError, type BackupStore, type Manifest, sealManifest } from './manifest.ts'

/** What the writer of a backup knows before its payload exists. */
export interface BackupFacts {
  readonly store: BackupStore
  readonly now: number
  readonly version: string
  /** The first one seals the manifest. */
  readonly rootKeys: readonly RootKey[]
}

/**
 * Writes a backup file: `dump` writes the payload and returns the number of the schema, then the
 * sealed manifest follows. The file has its name only once it is complete and on disk.
 *
 * @throws {BackupError} if the file exists
 */
export async function writeBackup(
  file: string,
  { store, now, version, rootKeys }: BackupFacts,
  dump: (draft: string) => number | Promise<number>,
): Promise<Manifest> {
  const [active] = rootKeys
  if (active === undefined) throw new RangeError('a backup needs a root key for its seal')
  if (existsSync(file))
    throw new BackupError(`${file} exists. Name a new file, or delete this one first.`)
  // Not the process id, which is the same in every run of a container: a run that was killed would
  // make the next one fail.
  const draft = `${file}.part-${randomUUID()}`
  using cleanup = new Cleanup()
  cleanup.add(() => rmSync(draft, { force: true }))
  // Only the owner may read the file. It is created before another program writes to it.
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (failure) {
    // The operator knows the name of the backup, and not that of its draft.
    if (failure instanceof Error) Object.assign(failure, { path: file })
    throw failure
  }
  const schema = await dump(draft)
  const manifest: Manifest = {
    format: 1,
    store,
    created_at: new Date(now).toISOString(),
    version,
    schema,
    root_keys: rootKeys.map(({ id }) => id),
    bytes: statSync(draft).size,
    sha256: await sha256Of(draft),
    sealed_with: active.id,
  }
  appendFileSync(draft, sealManifest(manifest, active))
  sync(draft)
  renameSync(draft, file)
  sync(dirname(file))
  return manifest
}

/**
 * Copies the payload of a backup whose manifest was verified, and compares its checksum.
 *
 * @throws {BackupError} if the payload differs from the manifest
 */
export async function extractPayload(
  file: string,
  { bytes, sha256 }: Manifest,
  target: string,
): Promise<void> {
  const hash = createHash('sha256')
  const copy = await open(target, 'wx', 0o600)
  try {
    if (bytes > 0)
      for await (const chunk of createReadStream(file, { end: bytes - 1 })) {
        hash.update(chunk as Buffer)
        await copy.writeFile(chunk as Buffer)
      }
    await copy.sync()
  } catch (failure) {
    // A failure of an open file names no path, and the operator has to know which disk is full.
    if (failure instanceof Error && 'syscall' in failure && !('path' in failure))
      Object.assign(failure, { path: target })
    throw failure
  } finally {
    await copy.close()
  }
  if (hash.digest('base64url') !== sha256)
    throw new BackupError(
      `The checksum of ${file} does not match. Usually the file was damaged on its disk or in a copy. Copy it again, or use another backup.`,
    )
}

/** Waits until a file, or the names in a folder, are on disk. */
export function sync(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('base64url')
}
