import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseRootKeys, type RootKey, RootKeyError } from '@bonded/core/domain/root-keys'

/**
 * Returns the configured root keys. Without any, it reads `root.key` in the data folder and creates
 * that file on first use.
 *
 * @throws {RootKeyError} if a key cannot be used; `file` names the file it was read from
 */
export function rootKeysOf({
  rootKeys,
  dataDir,
}: {
  readonly rootKeys: string | undefined
  readonly dataDir: string
}): readonly RootKey[] {
  if (rootKeys !== undefined) return parseRootKeys(rootKeys)
  const file = join(dataDir, 'root.key')
  const text = readOrCreateRootKeys(dataDir)
  try {
    return parseRootKeys(text)
  } catch (cause) {
    if (cause instanceof RootKeyError) throw new RootKeyError(cause.message, file)
    throw cause
  }
}

/**
 * Only the owner may read the file. A hard link publishes it whole or not at all, even if the disk
 * is full or the process dies. Of two processes that start at once, one creates it and both read
 * it.
 */
function readOrCreateRootKeys(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'root.key')
  const existing = readIfExists(file)
  if (existing !== undefined) return existing
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, `k1:${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 })
    linkSync(draft, file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8').trim()
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}
