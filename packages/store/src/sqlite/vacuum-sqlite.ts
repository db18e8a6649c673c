import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '@bonded/core/ports/store'
import { asStoreError } from './sqlite-errors.ts'

/** A commit of the service, or a reader, can hold the database for this long at most. */
const WAIT_FOR_LOCK_MS = 30_000

/**
 * Writes the database anew, without free pages and without what deleted and changed rows leave in
 * the others, and empties the write-ahead log. `secure_delete` alone would leave copies in pages
 * whose rows SQLite has moved. Other processes can read meanwhile, but not write.
 *
 * @throws {StoreError} if there is no database, or another process holds it too long
 */
export function vacuumSqlite(databaseFile: string): void {
  if (!existsSync(databaseFile))
    throw new StoreError('the store refused to open: there is no file', {
      kind: 'cannot_open',
      where: databaseFile,
    })
  try {
    using database = new DatabaseSync(databaseFile, { timeout: WAIT_FOR_LOCK_MS })
    database.exec('vacuum')
    const log = database.prepare('pragma wal_checkpoint(truncate)').get()
    if (log?.busy !== 0)
      throw new StoreError('another process still reads the write-ahead log', {
        kind: 'locked',
        where: databaseFile,
      })
  } catch (cause) {
    throw asStoreError(cause, { to: 'write', where: databaseFile })
  }
}
