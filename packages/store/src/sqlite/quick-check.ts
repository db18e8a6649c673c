import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '@bonded/core/ports/store'
import { realName } from './real-name.ts'
import { asStoreError } from './sqlite-errors.ts'

/** Checked in a second or so, also when the file is not in memory. */
const QUICKLY_CHECKED_BYTES = 256 * 2 ** 20

/**
 * Checks a file before a service uses it, unless it is large and was closed cleanly: a check reads
 * the whole file. SQLite deletes the write-ahead log when the last connection closes. A connection
 * that only reads leaves an empty one.
 *
 * @throws {StoreError} if the file is not a database or is damaged
 */
export function checkBeforeServing(file: string, quicklyBytes = QUICKLY_CHECKED_BYTES): void {
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const isClean = sizeOf(`${realName(file)}-wal`) === 0
  if (!isClean || sizeOf(file) <= quicklyBytes) quickCheck(file)
}

/**
 * Runs SQLite's integrity check over the whole file without changing it. A missing file passes.
 *
 * @throws {StoreError} if the file is not a database or is damaged
 */
export function quickCheck(file: string): void {
  if (!existsSync(file)) return
  const findings: unknown[] = []
  try {
    using database = new DatabaseSync(file, { readOnly: true })
    findings.push(
      ...database
        .prepare('pragma quick_check(1)')
        .all()
        .map(({ quick_check: finding }) => finding),
    )
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: file })
  }
  if (findings.length === 1 && findings[0] === 'ok') return
  throw new StoreError(`the store refused to open: ${findings.join(' ')}`, {
    kind: 'damaged',
    where: file,
  })
}
