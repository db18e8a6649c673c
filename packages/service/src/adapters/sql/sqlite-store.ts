import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Announcement, Bus } from '../../ports/bus.ts'
import { type Store, StoreError, type Tables, type TenantTable, type Unit, type Work } from '../../ports/store.ts'
import { deviceTable } from './device-table.ts'
import { idempotencyTable } from './idempotency-table.ts'
import { sessionTable } from './session-table.ts'
import type { Row, SqlValue, Statement } from './statement.ts'
import { keptTenants } from './tenant-cache.ts'
import { tenantTable } from './tenant-table.ts'

/** A writer that waits blocks the event loop: better a 503 soon than a service that stands still. */
const BUSY_TIMEOUT_MS = 250

interface Pending {
  run(): void
  settle(failure: unknown): void
}

/**
 * The store on one SQLite file. All writes of one turn of the event loop share a transaction (one fsync), each
 * in a savepoint of its own, and none of their promises resolves before the commit. Reads have a connection of
 * their own, because the writing one would show them what is not committed yet.
 *
 * @param bus is told of events once they are durable
 */
export class SqliteStore implements Store {
  readonly #writer: Connection
  readonly #reader: Connection
  readonly #bus: Bus
  #group: Pending[] = []
  #announcements: Announcement[] = []
  readonly #tables: Tables
  readonly #readOnlyTables: Tables

  constructor(file: string, bus: Bus) {
    this.#bus = bus
    this.#writer = new Connection(file)
    this.#reader = new Connection(file, { readOnly: true })
    const tenants = keptTenants(tenantTable, () => this.#writer.foreignVersion())
    this.#tables = tables(tenants.writing, (announcement) => this.#announcements.push(announcement))
    this.#readOnlyTables = tables(tenants.reading, () => {
      throw new StoreError('a unit that only reads has changed a session')
    })
  }

  write<T>(unit: Unit<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#group.length === 0) setImmediate(() => this.#commitGroup())
    let finish = () => {}
    this.#group.push({
      run: () => {
        const announced = this.#announcements.length
        this.#writer.exec('savepoint unit')
        try {
          const value = this.#writer.drive(unit(this.#tables))
          this.#writer.exec('release unit')
          finish = () => resolve(value)
        } catch (failure) {
          // SQLite rolls the whole transaction back by itself when the disk is full; then there is nothing to undo.
          if (!this.#writer.inTransaction) throw failure
          this.#writer.exec('rollback to unit')
          this.#writer.exec('release unit')
          this.#announcements.length = announced
          finish = () => reject(failure)
        }
      },
      settle: (failure) => (failure === undefined ? finish() : reject(failure)),
    })
    return promise
  }

  async read<T>(unit: Unit<T>): Promise<T> {
    try {
      return this.#reader.drive(unit(this.#readOnlyTables))
    } catch (cause) {
      throw asStoreError('read', cause)
    }
  }

  async health(): Promise<readonly string[]> {
    try {
      this.#reader.run({ text: 'select count(*) as migrations from migration', values: [] })
      return []
    } catch {
      return ['the store cannot be read']
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#commitGroup()
    this.#reader.close()
    this.#writer.close()
  }

  #commitGroup(): void {
    const group = this.#group
    this.#group = []
    if (group.length === 0) return
    let failure: unknown
    try {
      this.#writer.exec('begin immediate')
      for (const pending of group) pending.run()
      this.#writer.exec('commit')
    } catch (cause) {
      if (this.#writer.inTransaction) this.#writer.exec('rollback')
      failure = asStoreError('write', cause)
    }
    const announcements = this.#announcements
    this.#announcements = []
    for (const pending of group) pending.settle(failure)
    if (failure === undefined) for (const announcement of announcements) this.#bus.publish(announcement)
  }
}

function tables(tenants: TenantTable, announce: (announcement: Announcement) => void): Tables {
  return { sessions: sessionTable(announce), devices: deviceTable, tenants, idempotency: idempotencyTable }
}

interface Prepared {
  readonly statement: StatementSync
  /** Which value each mark takes. */
  readonly order: readonly number[]
  readonly columns: readonly string[]
}

/** One connection, its prepared statements, and how a unit of work is driven over it. */
class Connection {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, Prepared>()

  constructor(file: string, { readOnly = false } = {}) {
    this.#database = new DatabaseSync(file, { readOnly, timeout: BUSY_TIMEOUT_MS })
    if (readOnly) return
    // FULL: a commit is on the disk before anybody is told of it. WAL: readers never wait for it. A checkpoint copies
    // each page once, however often it changed: 8 000 pages (32 MB) make that rare without making a restart slow.
    this.#database.exec(
      'pragma journal_mode = wal; pragma synchronous = full; pragma temp_store = memory; pragma cache_size = -32000; pragma wal_autocheckpoint = 8000',
    )
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction
  }

  exec(text: string): void {
    this.#statement(text).statement.run()
  }

  run({ text, values }: Statement): readonly Row[] {
    const { statement, order, columns } = this.#statement(text)
    const bound = order.map((at) => {
      const value = values[at]
      // node:sqlite would bind NULL, and a wrong program would look like an empty column.
      if (value === undefined) throw new TypeError(`no value for $${at + 1}`)
      return value
    })
    if (columns.length === 0) {
      statement.run(...bound)
      return []
    }
    return (statement.all(...bound) as unknown as SqlValue[][]).map((found) => rowOf(columns, found))
  }

  /** Runs a unit of work to its end without letting go of the thread. */
  drive<T>(work: Work<T>): T {
    let step = work.next()
    while (step.done !== true) {
      let answer: readonly Row[]
      try {
        answer = this.run(step.value as Statement)
      } catch (failure) {
        step = work.throw(failure)
        continue
      }
      step = work.next(answer)
    }
    return step.value
  }

  /** Changes when another connection has committed, not when this one has. */
  foreignVersion(): number {
    return Number(this.run({ text: 'pragma data_version', values: [] })[0]?.data_version)
  }

  close(): void {
    this.#prepared.clear()
    this.#database.close()
  }

  /** node:sqlite binds by position only where every mark is a plain `?`, so `$2 … $1` is remembered as an order. */
  #statement(text: string): Prepared {
    let prepared = this.#prepared.get(text)
    if (prepared === undefined) {
      const order: number[] = []
      const marked = text.replaceAll(/\$(\d+)/g, (_, number: string) => {
        order.push(Number(number) - 1)
        return '?'
      })
      const statement = this.#database.prepare(marked)
      // Values without their names: with them, node:sqlite would make each column's name anew for every row.
      statement.setReturnArrays(true)
      prepared = { statement, order, columns: statement.columns().map(({ name }) => name) }
      this.#prepared.set(text, prepared)
    }
    return prepared
  }
}

function rowOf(columns: readonly string[], values: readonly SqlValue[]): Row {
  const row: Record<string, SqlValue> = {}
  for (let at = 0; at < columns.length; at++) row[columns[at] ?? ''] = values[at] ?? null
  return row
}

function asStoreError(what: 'read' | 'write', cause: unknown): unknown {
  const isDatabaseError = cause instanceof Error && 'code' in cause && cause.code === 'ERR_SQLITE_ERROR'
  return isDatabaseError ? new StoreError(`the database refused to ${what}`, { cause }) : cause
}
