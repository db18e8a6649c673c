import type { SessionId, Unreadiness } from '@bonded/contract'
import type { Instant } from '@bonded/core/domain/session'
import type { Bus, ChangeNotification } from '@bonded/core/ports/bus'
import { type Meter, noMeter } from '@bonded/core/ports/meter'
import type { NodeMessages } from '@bonded/core/ports/peers'
import {
  type Cause,
  type Store,
  StoreError,
  type StoreFailure,
  type Tables,
  type Unit,
} from '@bonded/core/ports/store'
import type { SessionKeys } from '../tables/session-keys.ts'
import { StoreDuringRequest } from '../tables/store-during-request.ts'
import { POSTGRES_READING } from '../dialect.ts'
import { sqlTables } from '../tables/tables.ts'
import { BatchError, type BatchStatement, type StatementResult } from './server/batch.ts'
import { ChangeFeed } from './change-feed.ts'
import { findUnreadiness } from './server/check-server.ts'
import type { DatabaseClock } from '../clock/database-clock.ts'
import type { Connections } from './server/connections.ts'
import { postgresMessages } from './node-messages.ts'
import { asStoreError, classify } from './postgres-errors.ts'
import type { PendingWrite } from './pending-write.ts'
import { SharedReads } from './shared-reads.ts'
import { SqlWrites } from './sql-writes.ts'
import { Transaction } from './transaction.ts'

/** The failures after which the next write probably fails too. */
const UNWRITABLE: readonly (StoreFailure | undefined)[] = [
  'full',
  'read_only',
  'input_output',
  'damaged',
]
/** Then requests come again, and the first write shows whether the database works. */
const UNWRITABLE_MS = 5_000
interface PostgresStoreParts {
  readonly bus: Bus
  readonly meter?: Meter
  readonly sessionKeys: SessionKeys
  readonly clock?: DatabaseClock | undefined
}

/**
 * How many calls may wait for the next transaction or read. Further ones wait where the service can
 * reject them by priority. Calls that wait for locks do not count, because they do not delay
 * others.
 */
const MAX_WAITING = 32

/** The statements that begin a snapshot of the whole database. */
const SNAPSHOT = [{ text: 'begin isolation level repeatable read, read only', values: [] }]

/**
 * The store on a PostgreSQL database, which several nodes share. A node caches no rows: each unit
 * reads its rows in one message and writes in another, with locks in between. Calls of a turn of
 * the event loop share messages and transactions.
 */
export class PostgresStore implements Store {
  readonly #connections: Connections
  readonly #bus: Bus
  readonly #meter: Meter
  readonly #tables: Tables
  readonly #feed: ChangeFeed
  readonly #sessionKeys: SessionKeys
  readonly messages: NodeMessages
  readonly #reads: SharedReads
  readonly #writes: SqlWrites
  /** When a write last failed as `UNWRITABLE` lists. A change that was committed resets it. */
  #unwritableAt = Number.NEGATIVE_INFINITY

  /** Use `openPostgres`, which also migrates the database and checks the server. */
  constructor(connections: Connections, parts: PostgresStoreParts) {
    const { bus, meter = noMeter, sessionKeys, clock } = parts
    this.#sessionKeys = sessionKeys
    this.#connections = connections
    this.#bus = bus
    this.messages = postgresMessages(connections)
    this.#meter = meter
    this.#feed = new ChangeFeed(connections, { bus, clock })
    this.#writes = new SqlWrites({
      connections,
      sessionKeys,
      committed: (units, notifications) => this.#committed(units, notifications),
      fail: (group, cause) => this.#fail(group, cause),
    })
    this.#tables = sqlTables({
      notify: () => {
        throw new StoreError('a unit that only reads has changed a session')
      },
      cause: () => undefined,
      dialect: POSTGRES_READING,
      mayWrite: false,
      sessionKeys,
    })
    this.#reads = new SharedReads({
      tables: this.#tables,
      run: (statements) => this.#runBatch(statements),
      inSnapshot: (unit) => this.#readSnapshot(unit),
    })
  }

  readonly hasClock = true

  newSessionId(at: Instant, random: Uint8Array): SessionId {
    return this.#sessionKeys.newId(at, random)
  }

  write<T>(unit: Unit<T>, cause?: Cause): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#writes.add({
      unit,
      cause,
      resolve: resolve as (value: unknown) => void,
      reject,
      isCareful: false,
      hasLostConnection: false,
      lockUntil: performance.now() + this.#connections.settings.lockTimeoutMs,
    })
    return promise
  }

  async read<T>(unit: Unit<T>): Promise<T> {
    try {
      return await this.#reads.read(unit)
    } catch (cause) {
      throw this.#outage(cause, 'read')
    }
  }

  during(cause: Cause): Store {
    return new StoreDuringRequest(this, cause)
  }

  free(): number {
    return 1 - (this.#writes.waiting + this.#reads.waiting) / MAX_WAITING
  }

  async health(): Promise<readonly Unreadiness[]> {
    const found = await findUnreadiness(this.#connections)
    const isUnwritable = performance.now() - this.#unwritableAt < UNWRITABLE_MS
    return isUnwritable && found.length === 0 ? ['store_unwritable'] : found
  }

  isNotified(): boolean {
    return this.#feed.isListening
  }

  async externalChanges(): ReturnType<Store['externalChanges']> {
    try {
      return await this.#feed.next()
    } catch (cause) {
      throw this.#outage(cause, 'read')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#feed[Symbol.asyncDispose]()
    await this.#connections[Symbol.asyncDispose]()
  }

  #fail(group: readonly PendingWrite[], cause: unknown): void {
    const error = this.#outage(cause, 'write')
    if (error instanceof StoreError && UNWRITABLE.includes(error.kind))
      this.#unwritableAt = performance.now()
    for (const { reject } of group) reject(error)
  }

  #committed(units: number, notifications: readonly ChangeNotification[]): void {
    this.#meter.committed(units)
    if (notifications.length > 0) this.#unwritableAt = Number.NEGATIVE_INFINITY
    for (const notification of notifications) {
      const { change } = notification
      if (change !== undefined) this.#meter.happened(change.events[0], change.session)
      this.#feed.committed(notification)
      this.#bus.publish(notification)
    }
  }

  /** Runs statements that only read in one round trip. */
  async #runBatch(statements: readonly BatchStatement[]): Promise<readonly StatementResult[]> {
    const connection = await this.#connections.take()
    try {
      return await connection.runBatch(statements)
    } catch (failure) {
      throw failure instanceof BatchError ? failure.cause : failure
    } finally {
      connection.release()
    }
  }

  /** Reads one snapshot. A read has no effect, so it can run again on a new connection. */
  async #readSnapshot<T>(unit: Unit<T>, hasLostConnection = false): Promise<T> {
    const connection = await this.#connections.take()
    try {
      const transaction = new Transaction(connection, { begin: SNAPSHOT, isCareful: true })
      const value = await transaction.drive(unit(this.#tables))
      connection.sendAhead({ text: 'commit', values: [] })
      connection.release()
      return value
    } catch (failure) {
      await connection.abandon()
      if (hasLostConnection || !isLost(failure) || this.#connections.isClosed) throw failure
    }
    return this.#readSnapshot(unit, true)
  }

  /** Converts an outage into a `StoreError`, and counts it unless the store was closed. */
  #outage(cause: unknown, to: 'read' | 'write'): unknown {
    const where = this.#connections.settings.address.shown
    if (this.#connections.isClosed)
      return new StoreError(`the store refused to ${to}: it is closed`, { where, cause })
    const error = asStoreError(cause, { to, where })
    if (error instanceof StoreError && error.kind) this.#meter.failed(`database_${error.kind}`)
    return error
  }
}

function isLost(failure: unknown): boolean {
  return classify(failure).kind === 'lost'
}
