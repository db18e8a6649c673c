import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { RequestId } from '@bonded/contract'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { SQLITE } from '../../src/dialect.ts'
import { migrate } from '../../src/migrations/migrate.ts'
import { SqliteStore } from '../../src/sqlite/sqlite-store.ts'
import { openSessionKeys } from '../../src/tables/session-keys.ts'
import type { Row, SqlValue, Statement } from '../../src/statement.ts'
import { sqlTables } from '../../src/tables/tables.ts'
import type { Cause, Store, Unit } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { memoryStore } from '../../../core/tests/memory/memory-store.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase, ROOT_KEY } from '../servers/test-database.ts'
import { ADD_TENANTS, TENANT_ROWS } from './table-operations.ts'

/** Runs units of work over the SQL tables or over the cached ones. */
export interface TableDriver extends AsyncDisposable {
  /** Runs a unit of a request, if one is named, and commits. */
  write<T>(unit: Unit<T>, by?: Cause): Promise<T>
  /** Runs a unit that only reads, after the commits of other connections are noticed. */
  read<T>(unit: Unit<T>): Promise<T>
  /** Runs a unit, undoes it, and returns what it returned. */
  undo<T>(unit: Unit<T>): Promise<T>
  /** Commits SQL on another connection. */
  writeOutside(sql: string): Promise<void>
}

/** A value that SQLite cannot bind, so an event that carries it cannot be stored. */
export const UNBINDABLE: Cause = { requestId: {} as RequestId, keyId: null }

const keys = keyringOf([ROOT_KEY]).idKeys
const opened = keys.open(keys.create())
/** One key for all drivers, so that they purge sessions of one instant in the same order. */
const idKeys = { create: () => opened.stored, open: () => opened }

/** The SQL tables by themselves: nothing is remembered between two statements. */
export function sqlDriver(): TableDriver {
  const { file, remove } = newFile()
  const database = new DatabaseSync(file)
  database.exec('pragma synchronous = off')
  let cause: Cause | undefined

  const drive = <T>(work: Work<T>): T => {
    let step = work.next()
    while (step.done !== true) {
      let response: readonly Row[] | number
      try {
        response = run(database, step.value as Statement)
      } catch (failure) {
        step = work.throw(failure)
        continue
      }
      step = work.next(response)
    }
    return step.value
  }
  const sessionKeys = drive(openSessionKeys(idKeys))
  const tables = sqlTables({
    notify: () => {},
    cause: () => cause,
    sessionKeys,
    dialect: SQLITE,
    mayWrite: true,
  })
  const transaction = <T>(unit: Unit<T>, end: 'commit' | 'rollback'): T => {
    database.exec('begin')
    try {
      const value = drive(unit(tables))
      database.exec(end)
      return value
    } catch (failure) {
      database.exec('rollback')
      throw failure
    }
  }
  return {
    async write(unit, by) {
      cause = by
      const value = transaction(unit, 'commit')
      cause = undefined
      return value
    },
    read: async (unit) => drive(unit(tables)),
    undo: async (unit) => transaction(unit, 'rollback'),
    writeOutside: async (sql) => database.exec(sql),
    async [Symbol.asyncDispose]() {
      database.close()
      remove()
    },
  }
}

/** The tables of the real store, with their caches. */
export function cachedDriver(): TableDriver {
  const { file, remove } = newFile()
  const store = new SqliteStore(file, { bus: localBus(), idKeys })
  const outside = new DatabaseSync(file)
  outside.exec('pragma synchronous = off')
  return {
    write: (unit, by) => store.write(unit, by),
    async read(unit) {
      await store.externalChanges()
      return store.read(unit)
    },
    undo: (unit) => undo(store, unit),
    writeOutside: async (sql) => outside.exec(sql),
    async [Symbol.asyncDispose]() {
      outside.close()
      await store[Symbol.asyncDispose]()
      remove()
    },
  }
}

/** The tables of the store on PostgreSQL, in a database of their own. */
export async function postgresDriver(): Promise<TableDriver> {
  const database = await postgresDatabase()
  const store = (await database.openStore(0))({ bus: localBus(), meter: noMeter })
  await runSql(database.url, ADD_TENANTS)
  return {
    write: (unit, by) => (by === undefined ? store : store.during(by)).write(unit),
    read: (unit) => store.read(unit),
    undo: (unit) => undo(store, unit),
    async writeOutside(sql) {
      await runSql(database.url, sql)
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await database.drop()
    },
  }
}

/** The store in memory, on which core's own tests run. No other process can write to it. */
export function memoryDriver(): Omit<TableDriver, 'writeOutside'> {
  const store = memoryStore(localBus(), TENANT_ROWS)
  return {
    write: (unit, by) => (by === undefined ? store : store.during(by)).write(unit),
    read: (unit) => store.read(unit),
    undo: (unit) => undo(store, unit),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

/** Runs a unit that throws at its end, and returns what it returned before. */
async function undo<T>(store: Store, unit: Unit<T>): Promise<T> {
  const undone = new Error('undone')
  const responses: T[] = []
  const written = store.write(function* (tables) {
    responses.push(yield* unit(tables))
    throw undone
  })
  await written.catch((cause) => {
    if (cause !== undone) throw cause
  })
  // A store may run a unit again. The last response counts.
  return responses.at(-1) as T
}

function newFile(): { file: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-tables-'))
  const file = join(folder, 'bonded.db')
  migrate(file, 0)
  using database = new DatabaseSync(file)
  database.exec(ADD_TENANTS)
  return { file, remove: () => rmSync(folder, { recursive: true }) }
}

function run(database: DatabaseSync, { text, values, counts }: Statement): readonly Row[] | number {
  if (values.includes(undefined as never)) throw new TypeError('a value is missing')
  const named = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]))
  const statement = database.prepare(text)
  if (counts) return Number(statement.run(named as Record<string, SqlValue>).changes)
  return statement.all(named as Record<string, SqlValue>) as Row[]
}
