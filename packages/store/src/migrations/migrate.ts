import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { MIGRATIONS } from './migrations.ts'
import { lockForServing } from '../sqlite/serving-lock.ts'
import { asStoreError } from '../sqlite/sqlite-errors.ts'

/** How long to wait for another process that writes or applies the same steps. */
const WAIT_FOR_LOCK_MS = 5_000

export interface MigrationState {
  readonly number: number
  readonly name: string
  readonly appliedAt: string | null
}

/** The schema of the database does not match this version of the program. */
export class MigrationError extends Error {
  readonly code = 'migration_mismatch'
  override readonly name = 'MigrationError'
}

/**
 * Migrates a SQLite file to the schema of this program. It applies all missing steps or none.
 *
 * @returns the steps that it applied
 * @throws {MigrationError} if a newer program created the file, or a released step was changed
 * @throws {StoreError} if the file cannot be read or written
 */
export function migrate(file: string, now: number): readonly string[] {
  try {
    // Usually no step is missing. That case must not wait for a service that writes.
    if (existsSync(file) && migrationStates(file).every(({ appliedAt }) => appliedAt !== null))
      return []
    using database = openDatabase(file)
    return applyMissing(database, now)
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: file })
  }
}

/**
 * Rejects a migration beside a running service. It has applied its own steps at its start, so it is
 * older, and would ignore what the new ones are for.
 *
 * @throws {StoreInUse} if steps are missing, and another process serves
 */
export function rejectServedByOlder(file: string): void {
  const states = migrationStates(file).map(({ appliedAt }) => appliedAt !== null)
  if (states.includes(true) && states.includes(false)) lockForServing(file)[Symbol.dispose]()
}

function applyMissing(database: DatabaseSync, now: number): readonly string[] {
  database.exec('begin immediate')
  try {
    database.exec(
      'create table if not exists migration (number bigint primary key, name text not null, checksum text not null, applied_at bigint not null)',
    )
    const applied = appliedSteps(database)
    const pending = MIGRATIONS.filter(({ number }) => !applied.has(number))
    for (const { number, name, statements } of pending) {
      for (const statement of statements) database.exec(statement)
      database
        .prepare('insert into migration (number, name, checksum, applied_at) values (?, ?, ?, ?)')
        .run(number, name, checksum(statements), now)
    }
    database.exec('commit')
    return pending.map(({ number, name }) => `${number} ${name}`)
  } catch (cause) {
    if (database.isTransaction) database.exec('rollback')
    throw cause
  }
}

/** Lists every step of this program and when it was applied. The file is not written. */
export function migrationStates(file: string): readonly MigrationState[] {
  const applied = existsSync(file) ? readSteps(file) : new Map<number, number>()
  return MIGRATIONS.map(({ number, name }) => {
    const at = applied.get(number)
    return { number, name, appliedAt: at === undefined ? null : new Date(at).toISOString() }
  })
}

function openDatabase(file: string): DatabaseSync {
  // The file is created before SQLite opens it, so that only its owner can read it. SQLite gives
  // its side files the same mode.
  closeSync(openSync(file, 'a', 0o600))
  const database = new DatabaseSync(file, { timeout: WAIT_FOR_LOCK_MS })
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  return database
}

function readSteps(file: string): ReadonlyMap<number, number> {
  try {
    using database = new DatabaseSync(file, { readOnly: true, timeout: WAIT_FOR_LOCK_MS })
    const made =
      database
        .prepare("select 1 from sqlite_schema where type = 'table' and name = 'migration'")
        .get() !== undefined
    return made ? appliedSteps(database) : new Map()
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: file })
  }
}

function appliedSteps(database: DatabaseSync): ReadonlyMap<number, number> {
  const applied = new Map<number, number>()
  for (const row of database
    .prepare('select number, name, checksum, applied_at from migration order by number')
    .all()) {
    const known = MIGRATIONS.find(({ number }) => number === row.number)
    if (known === undefined) {
      throw new MigrationError(
        `The database has step ${String(row.number)} (${String(row.name)}), which this version does not know: a newer version created it`,
      )
    }
    if (checksum(known.statements) !== row.checksum) {
      throw new MigrationError(
        `Step ${known.number} (${known.name}) differs from the one that was applied to the database`,
      )
    }
    applied.set(known.number, Number(row.applied_at))
  }
  return applied
}

/** Identifies the statements of a step, so that a change of a released step is noticed. */
export function checksum(statements: readonly string[]): string {
  return createHash('sha256').update(statements.join(';\n')).digest('hex')
}
