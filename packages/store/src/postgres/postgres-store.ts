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
import type { Statement } from '../statement.ts'
import { StoreDuringRequest } from '../tables/store-during-request.ts'
import { POSTGRES_READING } from '../dialect.ts'
import { sqlTables } from '../tables/tables.ts'
import { BatchError, type BatchRows, type BatchStatement } from './server/batch.ts'
import { ChangeFeed } from './change-feed.ts'
import { findUnreadiness } from './server/check-server.ts'
import type { DatabaseClock } from '../clock/database-clock.ts'
import type { Connections } from './server/connections.ts'
import { OptimisticUnits } from './row-cache/optimistic-units.ts'
import { OptimisticWrites } from './row-cache/optimistic-writes.ts'
import { postgresMessages } from './node-messages.ts'
import { asStoreError, classify } from './postgres-errors.ts'
import { KINDS } from './row-cache/row-kinds.ts'
import { RowLookups } from './row-cache/row-lookups.ts'
import { rowKey, RowCache } from './row-cache/row-cache.ts'
import type { PendingWrite } from './pending-write.ts'
import { drive, SqlWrites } from './sql-writes.ts'

/** After a failure of this kind, the next write probably fails too. */
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
 * How many calls may wait for the next batch or lookup: as many as two batches take. Further ones
 * wait where the service can reject them by priority. Calls that wait for locks do not count,
 * because they do not delay others.
 */
const MAX_WAITING = 32

/**
 * The store on a PostgreSQL database, which several nodes share. A unit runs on the cached rows,
 * and the database checks that they are current, after the call. What the cache cannot do runs
 * statement by statement: the writes of a turn of the event loop share a transaction; several
 * transactions run at the same time. If a unit throws or loses against another node, the store
 * rolls the group back and runs each unit alone.
 */
export class PostgresStore implements Store {
  readonly #connections: Connections
  readonly #bus: Bus
  readonly #meter: Meter
  readonly #reading: Tables
  readonly #feed: ChangeFeed
  readonly #sessionKeys: SessionKeys
  readonly #cache = new RowCache()
  readonly #lookups: RowLookups
  readonly #optimisticUnits: OptimisticUnits
  readonly #optimisticWrites: OptimisticWrites
  readonly messages: NodeMessages
  readonly #sqlWrites: SqlWrites
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
    const others: Bus = {
      ...bus,
      publish: (change) => {
        this.#drop(change.sessionId)
        bus.publish(change)
      },
    }
    this.#feed = new ChangeFeed(connections, { bus: others, clock })
    this.#lookups = new RowLookups((statements) => this.#runBatch(statements), this.#cache)
    this.#optimisticUnits = new OptimisticUnits(this.#cache, this.#lookups, sessionKeys)
    const committed = (units: number, notifications: readonly ChangeNotification[]) =>
      this.#committed(units, notifications)
    this.#sqlWrites = new SqlWrites({
      connections,
      sessionKeys,
      committed,
      fail: (group, cause) => this.#fail(group, cause),
    })
    this.#optimisticWrites = new OptimisticWrites({
      connections,
      units: this.#optimisticUnits,
      cache: this.#cache,
      bySql: (pending) => this.#sqlWrites.add(pending),
      committed,
      unknown: (group, cause) => this.#fail(group, cause),
    })
    this.#reading = sqlTables({
      notify: () => {
        throw new StoreError('a unit that only reads has changed a session')
      },
      cause: () => undefined,
      dialect: POSTGRES_READING,
      mayWrite: false,
      sessionKeys,
    })
  }

  readonly hasClock = true

  newSessionId(at: Instant, random: Uint8Array): SessionId {
    return this.#sessionKeys.newId(at, random)
  }

  write<T>(unit: Unit<T>, cause?: Cause): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#optimisticWrites.add({
      unit,
      cause,
      resolve: resolve as (value: unknown) => void,
      reject,
      foundRows: new Map(),
      runs: 0,
      isAlone: false,
      hasLostConnection: false,
      lockUntil: performance.now() + this.#connections.settings.lockTimeoutMs,
    })
    return promise
  }

  async read<T>(unit: Unit<T>): Promise<T> {
    try {
      return await this.#readFirst(unit).catch((failure: unknown) => {
        // A read has no effect, so it can run again on a new connection.
        if (isLost(failure) && !this.#connections.isClosed) return this.#readOnce(unit)
        throw failure
      })
    } catch (cause) {
      throw this.#outage(cause, 'read')
    }
  }

  during(cause: Cause): Store {
    return new StoreDuringRequest(this, cause)
  }

  free(): number {
    return 1 - (this.#optimisticWrites.waiting + this.#lookups.waiting) / MAX_WAITING
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
      const changes = await this.#feed.next()
      for (const { sessionId } of changes) this.#drop(sessionId)
      return changes
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
    if (error instanceof StoreError) {
      this.#meter.commitFailed()
      if (UNWRITABLE.includes(error.kind)) this.#unwritableAt = performance.now()
    }
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

  /** Runs statements in one round trip. Those that only read can run again on a new connection. */
  async #runBatch(statements: readonly BatchStatement[]): Promise<BatchRows> {
    const connection = await this.#connections.take()
    try {
      return await connection.runBatch(statements)
    } catch (failure) {
      throw failure instanceof BatchError ? failure.cause : failure
    } finally {
      connection.release()
    }
  }

  /** Drops a session that another node has changed, which would fail the next check. */
  #drop(id: SessionId): void {
    const key = this.#sessionKeys.of(id).next()
    if (key.done === true) this.#cache.delete(rowKey(KINDS.session, key.value))
  }

  async #readFirst<T>(unit: Unit<T>): Promise<T> {
    const found = await this.#optimisticUnits.read(unit).catch((failure: unknown) => {
      // SQL separates a unit that fails from the others of its batch.
      if (isLost(failure)) throw failure
      return undefined
    })
    return found === undefined ? this.#readOnce(unit) : found.value
  }

  /** Runs a unit that needs one statement without a transaction; others see one snapshot. */
  async #readOnce<T>(unit: Unit<T>): Promise<T> {
    const work = unit(this.#reading)
    let step = work.next()
    if (step.done === true) return step.value
    const connection = await this.#connections.take()
    try {
      step = work.next(await connection.run(step.value as Statement))
      if (step.done === true) {
        connection.release()
        return step.value
      }
      connection.sendAhead({ text: 'begin isolation level repeatable read, read only', values: [] })
      const value = await drive(connection, unit(this.#reading))
      connection.sendAhead({ text: 'commit', values: [] })
      connection.release()
      return value
    } catch (failure) {
      await connection.abandon()
      throw failure
    }
  }

  /** Converts an outage into a `StoreError`. A call after the store was closed is an outage. */
  #outage(cause: unknown, to: 'read' | 'write'): unknown {
    const where = this.#connections.settings.address.shown
    if (this.#connections.isClosed)
      return new StoreError(`the store refused to ${to}: it is closed`, { where, cause })
    return asStoreError(cause, { to, where })
  }
}

function isLost(failure: unknown): boolean {
  return classify(failure).kind === 'lost'
}
