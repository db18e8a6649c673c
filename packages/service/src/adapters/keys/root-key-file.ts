import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseRootKeys, type RootKey, RootKeyError } from './root-keys.ts'

/**
 * The configured root keys, or those of a development machine, made once in the data folder.
 *
 * @throws {RootKeyError} that says where the keys came from
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
  const kept = keptRootKeys(dataDir)
  try {
    return parseRootKeys(kept)
  } catch (cause) {
    if (cause instanceof RootKeyError) throw new RootKeyError(cause.message, file)
    throw cause
  }
}

/**
 * Kept for its owner's eyes only. The file appears whole or not at all, also when the disk is full or the process
 * dies; of two processes that start at once one makes it, and the other reads it.
 */
function keptRootKeys(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'root.key')
  const known = readIfThere(file)
  if (known !== undefined) return known
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

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}
