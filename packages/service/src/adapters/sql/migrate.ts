import { createHash } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { MIGRATIONS } from './migrations.ts'

export interface MigrationState {
  readonly number: number
  readonly name: string
  readonly appliedAt: string | null
}

/** The database and the program do not fit together. */
export class MigrationError extends Error {
  readonly code = 'migration_mismatch'
  override readonly name = 'MigrationError'
}

/**
 * Brings a SQLite file to the schema of this program, all steps or none.
 *
 * @returns the steps that were applied now
 * @throws {MigrationError} where the file was made by a newer program, or a released step was changed
 */
export function migrate(file: string, now: number): readonly string[] {
  using database = openDatabase(file)
  database.exec('begin immediate')
  try {
    const applied = appliedSteps(database)
    const pending = MIGRATIONS.filter(({ number }) => !applied.has(number))
    for (const { number, name, statements } of pending) {
      for (const statement of statements) database.exec(statement)
      database.prepare('insert into migration (number, name, checksum, applied_at) values (?, ?, ?, ?)').run(number, name, checksum(statements), now)
    }
    database.exec('commit')
    return pending.map(({ number, name }) => `${number} ${name}`)
  } catch (cause) {
    if (database.isTransaction) database.exec('rollback')
    throw cause
  }
}

/** Every step this program knows, and when it was applied. */
export function migrationStates(file: string): readonly MigrationState[] {
  using database = openDatabase(file)
  const applied = appliedSteps(database)
  return MIGRATIONS.map(({ number, name }) => {
    const at = applied.get(number)
    return { number, name, appliedAt: at === undefined ? null : new Date(at).toISOString() }
  })
}

function openDatabase(file: string): DatabaseSync {
  // Made before SQLite makes it, for its owner's eyes only; SQLite gives its side files the same mode.
  closeSync(openSync(file, 'a', 0o600))
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  return database
}

function appliedSteps(database: DatabaseSync): ReadonlyMap<number, number> {
  database.exec(
    'create table if not exists migration (number bigint primary key, name text not null, checksum text not null, applied_at bigint not null)',
  )
  const applied = new Map<number, number>()
  for (const row of database.prepare('select number, name, checksum, applied_at from migration order by number').all()) {
    const known = MIGRATIONS.find(({ number }) => number === row.number)
    if (known === undefined) {
      throw new MigrationError(
        `the database has step ${String(row.number)} (${String(row.name)}), which this program does not know: it was made by a newer version`,
      )
    }
    if (checksum(known.statements) !== row.checksum) {
      throw new MigrationError(`step ${known.number} (${known.name}) is not the one the database was made with`)
    }
    applied.set(known.number, Number(row.applied_at))
  }
  return applied
}

function checksum(statements: readonly string[]): string {
  return createHash('sha256').update(statements.join(';\n')).digest('hex')
}
