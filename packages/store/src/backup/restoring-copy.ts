import { existsSync } from 'node:fs'
import { StoreError } from '@bonded/core/ports/store'

/** The file in which a restore prepares a SQLite database. The lock of the database covers it. */
export function restoringCopyOf(databaseFile: string): string {
  return `${databaseFile}.restoring`
}

/**
 * Rejects a database that does not exist while a restore has left its copy. Otherwise a service
 * would start with an empty database in place of the restored one.
 *
 * @throws {StoreError} with the fix
 */
export function rejectUnfinishedCopy(databaseFile: string): void {
  const copy = restoringCopyOf(databaseFile)
  if (existsSync(databaseFile) || !existsSync(copy)) return
  throw new StoreError(
    `${databaseFile} does not exist, because a restore did not finish. Run bonded restore again. To start with an empty database instead, delete ${copy}.`,
    { kind: 'unsuitable', where: databaseFile },
  )
}
