import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { SessionId, Unreadiness } from '@bonded/contract'
import type { Instant } from '@bonded/core/domain/session'
import type { ChangeNotification, Bus } from '@bonded/core/ports/bus'
import type { IdKeys } from '@bonded/core/ports/keyring'
import { type Meter, noMeter } from '@bonded/core/ports/meter'
import {
  type Cause,
  type Store,
  StoreError,
  type Tables,
  type Unit,
} from '@bonded/core/ports/store'
import { CommitSchedule } from './commit-schedule.ts'
import { SQLITE } from '../dialect.ts'
import type { Writing } from '../tables/event-publisher.ts'
import { ExternalChanges } from './external-changes.ts'
import { rowCaches } from '../tables/row-cache.ts'
import { MIGRATIONS } from '../migrations/migrations.ts'
import { openSessionKeys, type SessionKeys } from '../tables/session-keys.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import type { Row } from '../statement.ts'
import { StoreDuringRequest } from '../tables/store-during-request.ts'
import { asStoreError } from './sqlite-errors.ts'
import { cachedTables, sqlTables } from '../tables/tables.ts'

/** A waiting writer blocks the event loop, so a write soon fails with 503 instead. */
const WAIT_FOR_LOCK_MS = 250

/**
 * How long a read may miss a commit of another process. Writes are guarded statements, so a stale
 * read cannot cause a wrong change.
 */
const EXTERNAL_CHECK_MS = 20

/**
 * Space for the write-ahead log between two checkpoints (32 MB), and as much again as a reserve.
 */
export const MIN_FREE_BYTES = 64 * 1024 * 1024

interface SqliteStoreOptions {
  readonly bus: Bus
  readonly idKeys: IdKeys
  readonly meter?: Meter
  readonly waitForLockMs?: number
  readonly freeBytes?: (file: string) => Promise<number>
}

/** A unit of work that waits for its transaction. */
interface Pending {
  run(): void
  done(): void
  failed(failure: unknown): void
}

interface Failure {
  readonly cause: unknown
  /** Whether a unit threw, so that the others can succeed without it. An outage fails all units. */
  readonly byUnit: boolean
}

/**
 * The store on one SQLite file. All writes of one turn of the event loop share a transaction (one
 * fsync), under load those of 3 ms (see `CommitSchedule`). Their promises resolve after its commit.
 * If a unit throws, the store rolls back the group and runs each unit in a separate transaction.
 * That is rare, and cheaper than a savepoint for every unit. A group runs synchronously, so no read
 * sees an uncommitted change.
 *
 * @param options.bus publishes events once they are durable
 * @param options.idKeys open the stored key of session ids
 * @param options.waitForLockMs how long a write waits for another process; 250 ms by default
 * @param options.freeBytes free bytes on the disk of a file; by default what the system reports
 * @throws {StoreError} if the file cannot be opened
 * @throws {IdKeyError} if the key of session ids cannot be opened
 */
export class SqliteStore implements Store {
  readonly #database: SqliteConnection
  readonly #file: string
  readonly #bus: Bus
  readonly #meter: Meter
  readonly #freeBytes: (file: string) => Promise<number>
  #group: Pending[] = []
  readonly #schedule = new CommitSchedule()
  #notifications: ChangeNotification[] = []
  readonly #sessionKeys: SessionKeys
  readonly #tables: Tables
  readonly #readOnlyTables: Tables
  readonly #externalChanges: ExternalChanges
  readonly #caches = rowCaches()
  #version = Number.NaN
  #staleAt = 0
  /** The cause of the running unit. Units run one at a time and synchronously. */
  #cause: Cause | undefined
  /** Stays true until a write succeeds. A transaction without a change would prove nothing. */
  #lastWriteFailed = false

  constructor(file: string, options: SqliteStoreOptions) {
    const {
      bus,
      idKeys,
      meter = noMeter,
      waitForLockMs = WAIT_FOR_LOCK_MS,
      freeBytes = freeBytesOf,
    } = options
    this.#file = file
    this.#bus = bus
    this.#meter = meter
    this.#freeBytes = freeBytes
    let database: SqliteConnection | undefined
    try {
      database = new SqliteConnection(file, waitForLockMs)
      this.#sessionKeys = database.drive(openSessionKeys(idKeys))
      this.#database = database
      this.#externalChanges = new ExternalChanges(database)
    } catch (cause) {
      database?.close()
      throw asStoreError(cause, { to: 'open', where: file })
    }
    this.#tables = this.#cachedTables({
      notify: (notification) => this.#notifications.push(notification),
      cause: () => this.#cause,
      sessionKeys: this.#sessionKeys,
      dialect: SQLITE,
      mayWrite: true,
    })
    const notify = () => {
      throw new StoreError('a unit that only reads has changed a session')
    }
    this.#readOnlyTables = this.#cachedTables({
      notify,
      cause: () => undefined,
      sessionKeys: this.#sessionKeys,
      dialect: SQLITE,
      mayWrite: false,
    })
  }

  write<T>(unit: Unit<T>, cause?: Cause): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (this.#group.length === 0) this.#scheduleCommit()
    let value: T
    this.#group.push({
      run: () => {
        this.#cause = cause
        value = this.#database.drive(unit(this.#tables))
      },
      done: () => resolve(value),
      failed: reject,
    })
    return promise
  }

  async read<T>(unit: Unit<T>): Promise<T> {
    try {
      if (performance.now() >= this.#staleAt) this.#dropStale()
      return this.#database.drive(unit(this.#readOnlyTables))
    } catch (cause) {
      throw this.#outage(cause, 'read')
    }
  }

  readonly hasClock = false

  newSessionId(at: Instant, random: Uint8Array): SessionId {
    return this.#sessionKeys.newId(at, random)
  }

  during(cause: Cause): Store {
    return new StoreDuringRequest(this, cause)
  }

  async health(): Promise<readonly Unreadiness[]> {
    const found: Unreadiness[] = []
    try {
      const [row] = this.#database.run({
        text: 'select max(number) as latest from migration',
        values: [],
      }) as readonly Row[]
      const applied = Number(row?.latest)
      const known = MIGRATIONS.at(-1)?.number ?? 0
      if (applied < known) found.push('migrations_pending')
      if (applied > known) found.push('migrations_unknown')
    } catch {
      found.push('store_unreadable')
    }
    if (this.#lastWriteFailed && !this.#tryToWrite()) found.push('store_unwritable')
    const freeBytes = await this.#freeBytes(this.#file).catch(() => 0)
    if (freeBytes < MIN_FREE_BYTES) found.push('disk_full')
    return found
  }

  async externalChanges(): ReturnType<Store['externalChanges']> {
    try {
      // The caches are dropped before the events are returned, because their listeners read at
      // once.
      const found = this.#externalChanges.next()
      this.#dropStale()
      return found
    } catch (cause) {
      throw this.#outage(cause, 'read')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#commitGroup()
    this.#database.close()
  }

  #cachedTables(writing: Writing): Tables {
    return cachedTables(sqlTables(writing), this.#caches)
  }

  /** Writes a page without meaning, which needs the same space and permission as a change. */
  #tryToWrite(): boolean {
    try {
      // The service does not use this number. Setting it always writes a page.
      this.#database.exec('pragma user_version = 1')
      this.#lastWriteFailed = false
    } catch {
      // The store reported the cause when the previous write failed.
    }
    return !this.#lastWriteFailed
  }

  #scheduleCommit(): void {
    const delayMs = this.#schedule.delayMs(performance.now())
    if (delayMs === 0) setImmediate(() => this.#commitGroup())
    else setTimeout(() => this.#commitGroup(), delayMs)
  }

  #commitGroup(): void {
    const group = this.#group
    this.#group = []
    if (group.length === 0) return
    this.#schedule.begin(group.length, performance.now())
    const failure = this.#commit(group)
    if (failure === undefined) return
    if (failure.byUnit && group.length > 1)
      for (const pending of group) this.#failed([pending], this.#commit([pending]))
    else this.#failed(group, failure)
  }

  #failed(units: readonly Pending[], failure: Failure | undefined): void {
    if (failure === undefined) return
    const error = this.#outage(failure.cause, 'write')
    // An error of the unit itself is not an outage of the database.
    if (error instanceof StoreError) this.#lastWriteFailed = true
    for (const unit of units) unit.failed(error)
  }

  /** Commits all of the units or none. @returns the failure if it was none */
  #commit(units: readonly Pending[]): Failure | undefined {
    let byUnit = false
    try {
      this.#database.exec('begin immediate')
      this.#dropStale()
      byUnit = true
      for (const unit of units) unit.run()
      byUnit = false
      this.#database.exec('commit')
    } catch (cause) {
      this.#database.rollBack()
      this.#caches.clear()
      this.#notifications = []
      return { cause, byUnit }
    }
    const notifications = this.#notifications
    this.#notifications = []
    this.#meter.committed(units.length)
    for (const unit of units) unit.done()
    for (const notification of notifications) {
      const { change } = notification
      if (change !== undefined) this.#meter.happened(change.events[0], change.session)
      this.#bus.publish(notification)
    }
    return undefined
  }

  /** Converts an outage into a `StoreError`, and counts it unless the store was closed. */
  #outage(cause: unknown, to: 'read' | 'write'): unknown {
    if (!this.#database.isOpen)
      return new StoreError(`the store refused to ${to}: it is closed`, {
        where: this.#file,
        cause,
      })
    const error = asStoreError(cause, { to, where: this.#file })
    if (error instanceof StoreError && error.kind) this.#meter.failed(`database_${error.kind}`)
    return error
  }

  /** Drops caches and statements if another process has committed, which may include the schema. */
  #dropStale(): void {
    const version = this.#database.externalVersion()
    if (version !== this.#version) {
      this.#caches.clear()
      this.#database.dropStatements()
    }
    this.#version = version
    this.#staleAt = performance.now() + EXTERNAL_CHECK_MS
  }
}

async function freeBytesOf(file: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(file))
  return bavail * bsize
}
