import type { SessionId, Unreadiness } from '@bonded/contract'
import type { Instant } from '../../../domain/session.ts'
import type { Bus, ChangeNotification } from '../../../ports/bus.ts'
import { type Meter, noMeter } from '../../../ports/meter.ts'
import type { NodeMessages } from '../../../ports/peers.ts'
import {
  type Cause,
  type Store,
  StoreError,
  type StoreFailure,
  type Tables,
  type Unit,
  type Work,
} from '../../../ports/store.ts'
import type { SessionKeys } from '../session-keys.ts'
import type { Row, Statement } from '../statement.ts'
import { StoreDuringRequest } from '../store-during-request.ts'
import { POSTGRES, POSTGRES_READING } from '../dialect.ts'
import { sqlTables } from '../tables.ts'
import { BatchError, type BatchRows, type BatchStatement } from './server/batch.ts'
import { ChangeFeed } from './change-feed.ts'
import { findUnreadiness } from './server/check-server.ts'
import type { DatabaseClock } from '../../clock/database-clock.ts'
import type { Connection, Connections } from './server/connections.ts'
import { MemoryUnits } from './rows/memory-units.ts'
import { MemoryWrites, type PendingWrite } from './rows/memory-writes.ts'
import { postgresMessages } from './node-messages.ts'
import { asStoreError, classify } from './postgres-errors.ts'
import { KINDS } from './rows/row-kinds.ts'
import { RowLookups } from './rows/row-lookups.ts'
import { rowKey, RowMemory } from './rows/row-memory.ts'

/** The most units of one transaction. They run one after another and share one commit. */
const MAX_UNITS = 8
/** How often a transaction that lost against another one runs again. */
const MAX_ATTEMPTS = 6
/** The longest pause before it does, so that two of them do not meet again. */
const MAX_PAUSE_MS = 25
/** After a failure of this kind, the next write probably fails too. */
const UNWRITABLE: readonly (StoreFailure | undefined)[] = [
  'full',
  'read_only',
  'input_output',
  'damaged',
]
/** Then requests come again, and the first write shows whether the database works. */
const UNWRITABLE_MS = 5_000
/**
 * How long a unit among others waits for a lock. Two groups can wait for each other, and PostgreSQL
 * notices that only after a second. Alone, a unit waits for the configured time.
 */
const BEGIN_GROUP = `begin; set local lock_timeout = '50ms'`

/** A unit of work that waits for its transaction. */
type Pending = Omit<PendingWrite, 'answered' | 'attempts' | 'lookups' | 'isAlone'>

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

/** A transaction whose commit may or may not have taken effect. It must not run again. */
class OutcomeUnknown extends Error {}

/**
 * The store on a PostgreSQL database, which several nodes share. A unit runs on the rows in memory,
 * and the database checks that they are current, after the call. What memory cannot answer runs
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
  readonly #memory = new RowMemory()
  readonly #lookups: RowLookups
  readonly #memoryUnits: MemoryUnits
  readonly #memoryWrites: MemoryWrites
  readonly messages: NodeMessages
  /** Half of the connections, so that writes never keep reads waiting for one. */
  readonly #maxGroups: number
  #waiting: Pending[] = []
  #groups = 0
  #scheduled = false
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
    this.#lookups = new RowLookups((statements) => this.#runBatch(statements), this.#memory)
    this.#memoryUnits = new MemoryUnits(this.#memory, this.#lookups, sessionKeys)
    this.#memoryWrites = new MemoryWrites({
      connections,
      units: this.#memoryUnits,
      memory: this.#memory,
      bySql: (pending) => {
        this.#waiting.push(pending)
        this.#schedule()
      },
      committed: (units, notifications) => this.#committed(units, notifications),
      unknown: (group, cause) => this.#fail(group, cause),
    })
    this.#maxGroups = Math.max(1, Math.floor(connections.settings.poolSize / 2))
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
    this.#memoryWrites.add({
      unit,
      cause,
      resolve: resolve as (value: unknown) => void,
      reject,
      answered: new Map(),
      attempts: 0,
      lookups: 0,
      isAlone: false,
      hasLostConnection: false,
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

  room(): number {
    return MAX_WAITING - this.#memoryWrites.waiting - this.#lookups.waiting
  }

  async health(): Promise<readonly Unreadiness[]> {
    const found = await findUnreadiness(this.#connections)
    const isUnwritable = performance.now() - this.#unwritableAt < UNWRITABLE_MS
    return isUnwritable && found.length === 0 ? ['store_unwritable'] : found
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

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      while (this.#waiting.length > 0 && this.#groups < this.#maxGroups) {
        this.#groups++
        void this.#finish(this.#waiting.splice(0, MAX_UNITS)).finally(() => {
          this.#groups--
          if (this.#waiting.length > 0) this.#schedule()
        })
      }
    })
  }

  /** Brings every unit of a group to its end. Never rejects. */
  async #finish(group: readonly Pending[]): Promise<void> {
    if (group.length === 1) return this.#finishAlone(group[0] as Pending)
    try {
      await this.#transaction(group, BEGIN_GROUP)
    } catch (failure) {
      if (failure instanceof OutcomeUnknown) return this.#fail(group, failure.cause)
      await Promise.all(group.map((pending) => this.#finishAlone(pending)))
    }
  }

  async #finishAlone(pending: Pending): Promise<void> {
    for (let attempt = pending.hasLostConnection ? 2 : 1; ; attempt++) {
      try {
        return await this.#transaction([pending], 'begin')
      } catch (failure) {
        if (failure instanceof OutcomeUnknown) return this.#fail([pending], failure.cause)
        const { kind } = classify(failure)
        // A connection that was lost before the commit was sent has changed nothing.
        const mayRunAgain =
          (kind === 'conflict' && attempt < MAX_ATTEMPTS) || (kind === 'lost' && attempt === 1)
        if (!mayRunAgain || this.#connections.isClosed) return this.#fail([pending], failure)
        await pause(Math.random() * MAX_PAUSE_MS)
      }
    }
  }

  #fail(group: readonly Pending[], cause: unknown): void {
    const error = this.#outage(cause, 'write')
    if (error instanceof StoreError) {
      this.#meter.commitFailed()
      if (UNWRITABLE.includes(error.kind)) this.#unwritableAt = performance.now()
    }
    for (const { reject } of group) reject(error)
  }

  /** Commits all units or none, and then resolves their callers. */
  async #transaction(group: readonly Pending[], begin: string): Promise<void> {
    const connection = await this.#connections.take()
    const notifications: ChangeNotification[] = []
    let cause: Cause | undefined
    const tables = sqlTables({
      notify: (notification) => notifications.push(notification),
      cause: () => cause,
      dialect: POSTGRES,
      mayWrite: true,
      sessionKeys: this.#sessionKeys,
    })
    const values: unknown[] = []
    try {
      connection.sendAhead({ text: begin, values: [] })
      for (const pending of group) {
        cause = pending.cause
        values.push(await drive(connection, pending.unit(tables)))
      }
    } catch (failure) {
      await connection.abandon()
      throw failure
    }
    await commit(connection)
    for (let at = 0; at < group.length; at++) group[at]?.resolve(values[at])
    this.#committed(group.length, notifications)
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
    if (key.done === true) this.#memory.delete(rowKey(KINDS.session, key.value))
  }

  async #readFirst<T>(unit: Unit<T>): Promise<T> {
    const found = await this.#memoryUnits.read(unit).catch((failure: unknown) => {
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

/** Runs a unit of work to its end. */
export async function drive<T>(connection: Connection, work: Work<T>): Promise<T> {
  let step = work.next()
  while (step.done !== true) {
    const statement = step.value as Statement
    if (statement.ahead) {
      connection.sendAhead(statement)
      step = work.next(0)
      continue
    }
    let answer: readonly Row[] | number
    try {
      answer = await connection.run(statement)
    } catch (failure) {
      // After an error the transaction is void, even if the unit catches the error.
      try {
        work.throw(failure)
      } catch {
        // The caller gets the original failure.
      }
      throw failure
    }
    step = work.next(answer)
  }
  return step.value
}

async function commit(connection: Connection): Promise<void> {
  let committed: boolean
  try {
    committed = await connection.commit()
  } catch (failure) {
    await connection.abandon()
    // A failed commit is answered with an error. Without a response, the outcome is unknown.
    throw classify(failure).kind === 'lost' ? new OutcomeUnknown('', { cause: failure }) : failure
  }
  connection.release()
  if (!committed) throw new StoreError('the store refused to write: the server rolled back')
}

function isLost(failure: unknown): boolean {
  return classify(failure).kind === 'lost'
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
