import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '@bonded/core/ports/store'
import { asStoreError } from './sqlite-errors.ts'

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
