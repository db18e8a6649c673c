import { existsSync, linkSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '@bonded/core/ports/store'
import { migrationStates } from '../migrations/migrate.ts'
import { asStoreError } from '../sqlite/sqlite-errors.ts'
import { sync } from './backup-file.ts'

/** A commit of the service can hold the database for this long at most. */
const WAIT_FOR_LOCK_MS = 5_000

/**
 * Copies a database into an empty file. `vacuum into` reads one snapshot, so the service keeps
 * writing meanwhile and the copy has no part of a later change. Deleted rows leave no trace in it.
 *
 * @returns the number of the latest migration in the copy
 * @throws {StoreError} if the database cannot be read or the copy is damaged
 * @throws {MigrationError} if a newer version created the database
 */
export function dumpSqlite(databaseFile: string, copy: string): number {
  if (!existsSync(databaseFile))
    throw new StoreError('the store refused to open: there is no file', {
      kind: 'cannot_open',
      where: databaseFile,
    })
  try {
    using database = new DatabaseSync(databaseFile, { timeout: WAIT_FOR_LOCK_MS })
    database.prepare('vacuum into ?').run(copy)
  } catch (cause) {
    // A full disk is that of the copy; any other failure is one of the database.
    const failure = asStoreError(cause, { to: 'read', where: databaseFile })
    const isFull = failure instanceof StoreError && failure.kind === 'full'
    throw isFull ? asStoreError(cause, { to: 'write', where: copy }) : failure
  }
  return verifyCopy(copy)
}

/**
 * Checks every page, index and constraint of a database that no process uses.
 *
 * @returns the number of its latest migration
 * @throws {StoreError} if it is damaged or not a database of bonded
 * @throws {MigrationError} if a newer version created it
 */
export function verifyCopy(copy: string): number {
  let findings: readonly unknown[]
  try {
    using database = new DatabaseSync(copy, { readOnly: true })
    findings = database
      .prepare('pragma integrity_check(1)')
      .all()
      .map(({ integrity_check: finding }) => finding)
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: copy })
  }
  if (findings.length !== 1 || findings[0] !== 'ok')
    throw new StoreError(`the copy is damaged: ${findings.join(' ')}`, {
      kind: 'damaged',
      where: copy,
    })
  const applied = migrationStates(copy).filter(({ appliedAt }) => appliedAt !== null)
  const latest = applied.at(-1)?.number
  if (latest === undefined)
    throw new StoreError('the copy has no schema of bonded', {
      kind: 'not_a_database',
      where: copy,
    })
  return latest
}

/** Whether a database is at this path, or a write-ahead log that a new database would adopt. */
export function databaseExists(databaseFile: string): boolean {
  return SUFFIXES.some((suffix) => existsSync(databaseFile + suffix))
}

/**
 * Gives a verified copy the name of the database. A database that is there keeps its content under
 * another name.
 *
 * @returns the new name of the database that was there; undefined if there was none
 */
export function installCopy(copy: string, databaseFile: string, now: number): string | undefined {
  let replaced: string | undefined
  if (databaseExists(databaseFile)) {
    replaced = `${databaseFile}.replaced-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
    foldLog(databaseFile)
    for (const suffix of LOG_SUFFIXES)
      if (existsSync(databaseFile + suffix)) renameSync(databaseFile + suffix, replaced + suffix)
    if (existsSync(databaseFile)) addName(databaseFile, replaced)
  }
  renameSync(copy, databaseFile)
  sync(dirname(databaseFile))
  return replaced
}

/** The log moves before its database, because the new database must not adopt it. */
const LOG_SUFFIXES = ['-wal', '-shm'] as const
const SUFFIXES = [...LOG_SUFFIXES, ''] as const

/** Keeps a file under a second name, so that the next rename replaces it without a gap. */
function addName(file: string, name: string): void {
  try {
    linkSync(file, name)
  } catch {
    // A file system without hard links. Until the next rename, there is no database.
    renameSync(file, name)
  }
}

/** Writes the log into its database, so that a crash between two renames separates nothing. */
function foldLog(databaseFile: string): void {
  try {
    using database = new DatabaseSync(databaseFile, { timeout: WAIT_FOR_LOCK_MS })
    database.exec('pragma wal_checkpoint(truncate)')
  } catch {
    // A damaged database is replaced as it is.
  }
}
