import type { ClientConfig, Pool, PoolClient, Query, QueryResult } from 'pg'
import type { Row, SqlValue, Statement } from '../statement.ts'
import {
  BatchError,
  type BatchRows,
  type BatchStatement,
  batchClass,
  type PreparedNames,
} from './batch.ts'
import type { DatabaseAddress } from './database-url.ts'
import { classify } from './postgres-errors.ts'

/** The configured database with its pool and time-outs. */
export interface PostgresSettings {
  readonly address: DatabaseAddress
  readonly poolSize: number
  /** How long a statement may run. */
  readonly statementTimeoutMs: number
  /** How long a statement may wait for a lock. */
  readonly lockTimeoutMs: number
  /** False behind a pooler that cannot keep prepared statements. */
  readonly prepared: boolean
}

/** How long a new connection, or a free one, may take. */
const CONNECT_TIMEOUT_MS = 3_000
/** The server ends a transaction whose node pauses, so that its locks do not stay. */
const IDLE_IN_TRANSACTION_MS = 10_000
/** An unused connection is closed after this time. */
const IDLE_MS = 60_000
/** How often hanging connections are looked for. */
const WATCH_MS = 500

/** Object ids of types whose text the driver would not convert as SQLite does. */
const INT8 = 20
const BYTEA = 17

/** A connection for one transaction or one read. */
export class Connection {
  readonly #client: PoolClient
  readonly #pool: Connections
  #failed: Error | undefined
  /** The failure of a statement that was sent ahead. */
  #aheadFailed: unknown
  #sentAt = 0
  #inFlight = 0

  constructor(client: PoolClient, pool: Connections) {
    this.#client = client
    this.#pool = pool
  }

  /** Runs a statement. Its failure can also be that of an earlier one that was sent ahead. */
  async run(statement: Statement): Promise<readonly Row[] | number> {
    let result: QueryResult<Row>
    try {
      result = await this.#send(statement)
    } catch (failure) {
      // After the earlier failure, PostgreSQL rejects this statement with a code of its own.
      throw this.#aheadFailed ?? failure
    }
    if (this.#aheadFailed !== undefined) throw this.#aheadFailed
    return statement.counts ? (result.rowCount ?? 0) : result.rows
  }

  /** Sends a statement without waiting. Later ones run after it, and report its failure. */
  sendAhead(statement: Statement): void {
    this.#send(statement).catch((failure: unknown) => {
      this.#aheadFailed ??= failure
    })
  }

  /**
   * Runs statements as one transaction, in one round trip. After a failure nothing is to roll back.
   *
   * @throws {BatchError} if the server rejected it, or the connection was lost
   */
  async runBatch(statements: readonly BatchStatement[]): Promise<BatchRows> {
    const { promise, resolve, reject } = Promise.withResolvers<BatchRows>()
    const names = this.#pool.namesOn(this.#client)
    this.#begin()
    try {
      this.#client.query(new this.#pool.batch({ statements, names, resolve, reject }))
      return await promise
    } catch (failure) {
      // The server closes a connection after it has reported that it stops.
      if (failure instanceof BatchError && classify(failure.cause).kind === 'lost')
        this.#failed = failure
      throw failure
    } finally {
      this.#end()
    }
  }

  /** @returns whether the transaction was committed; false if the server rolled it back */
  async commit(): Promise<boolean> {
    const { command } = await this.#send({ text: 'commit', values: [] })
    if (this.#aheadFailed !== undefined) throw this.#aheadFailed
    return command === 'COMMIT'
  }

  /** Returns the connection. After a failure in a transaction, call `abandon` instead. */
  release(): void {
    this.#pool.released(this)
    this.#client.release(this.#failed)
  }

  /** Rolls back, then returns the connection. If that fails, the connection is closed. */
  async abandon(): Promise<void> {
    try {
      await this.#send({ text: 'rollback', values: [] })
    } catch (failure) {
      this.#failed = failure instanceof Error ? failure : new Error(String(failure))
    }
    this.release()
  }

  /** Closes a connection whose server has not answered since the instant. */
  closeIfHanging(since: number): void {
    if (this.#inFlight === 0 || this.#sentAt > since) return
    this.#failed = new Error('the connection hangs')
    // `pg` has no public way to close a connection that waits for an answer, and does not declare
    // this member.
    const { connection } = this.#client as unknown as {
      connection: { stream: { destroy(failure: Error): void } }
    }
    connection.stream.destroy(this.#failed)
  }

  async #send({ text, values }: Statement): Promise<QueryResult<Row>> {
    for (let at = 0; at < values.length; at++)
      if (values[at] === undefined) throw new TypeError(`no value for $${at + 1}`)
    this.#begin()
    try {
      const name = this.#pool.nameOf(text)
      return await this.#client.query<Row>({
        text,
        values: values as SqlValue[],
        ...(name === undefined || values.length === 0 ? {} : { name }),
      })
    } finally {
      this.#end()
    }
  }

  #begin(): void {
    if (this.#inFlight === 0) this.#sentAt = performance.now()
    this.#inFlight++
  }

  #end(): void {
    this.#inFlight--
    this.#sentAt = performance.now()
  }
}

/** The connections of one node. Statements of a connection are pipelined. */
export class Connections implements AsyncDisposable {
  readonly #pool: Pool
  readonly #settings: PostgresSettings
  readonly #inUse = new Set<Connection>()
  readonly #names = new Map<string, string>()
  readonly #watch: NodeJS.Timeout
  readonly batch: ReturnType<typeof batchClass>
  readonly #prepared = new WeakMap<PoolClient, PreparedNames>()
  #closed = false

  private constructor(pool: Pool, settings: PostgresSettings, query: typeof Query) {
    this.#pool = pool
    this.#settings = settings
    this.batch = batchClass(query)
    // A connection that breaks while it is idle is replaced at the next use.
    pool.on('error', () => undefined)
    // One that breaks in use fails its statements, which is all that its user needs to know.
    pool.on('connect', (client) => client.on('error', () => undefined))
    const longest = settings.statementTimeoutMs + CONNECT_TIMEOUT_MS
    this.#watch = setInterval(() => {
      const since = performance.now() - longest
      for (const connection of this.#inUse) connection.closeIfHanging(since)
    }, WATCH_MS).unref()
  }

  /** Loads the driver. No connection is opened before the first use. */
  static async open(settings: PostgresSettings): Promise<Connections> {
    // Loaded here, because a service on SQLite does not need the driver.
    const { default: pg } = await import('pg')
    const { poolSize, statementTimeoutMs, lockTimeoutMs } = settings
    const pool = new pg.Pool({
      ...connectionOf(settings),
      max: poolSize,
      pipeline: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      statement_timeout: statementTimeoutMs,
      lock_timeout: lockTimeoutMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      types: {
        getTypeParser(oid: number, format?: string) {
          if (oid === INT8) return Number
          if (oid === BYTEA) return bytesOf
          return pg.types.getTypeParser(oid, format as 'text')
        },
      },
    })
    return new Connections(pool, settings, pg.Query)
  }

  get settings(): PostgresSettings {
    return this.#settings
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Takes a connection for this caller alone. */
  async take(): Promise<Connection> {
    const connection = new Connection(await this.#pool.connect(), this)
    this.#inUse.add(connection)
    return connection
  }

  /** Opens a connection of its own that listens to a channel, and reports the payloads. */
  async listen(
    channel: string,
    {
      onNotification,
      onEnd,
    }: { onNotification: (payload: string | undefined) => void; onEnd: () => void },
  ): Promise<{ end(): Promise<void> }> {
    const { default: pg } = await import('pg')
    const client = new pg.Client({
      ...connectionOf(this.#settings),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    })
    client.on('error', () => undefined)
    client.on('notification', ({ payload }) => onNotification(payload))
    await client.connect()
    client.on('end', onEnd)
    await client.query(`listen ${channel}`)
    return client
  }

  /** The name under which a statement is prepared, one for each text. */
  nameOf(text: string): string | undefined {
    if (!this.#settings.prepared) return undefined
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `bonded_${this.#names.size}`
      this.#names.set(text, name)
    }
    return name
  }

  /** The statements that batches have prepared on a connection, apart from those of the driver. */
  namesOn(client: PoolClient): PreparedNames {
    let names = this.#prepared.get(client)
    if (names === undefined) {
      names = {
        nameOf: (text) => {
          const name = this.nameOf(text)
          return name && `${name}_batch`
        },
        onServer: new Map(),
      }
      this.#prepared.set(client, names)
    }
    return names
  }

  released(connection: Connection): void {
    this.#inUse.delete(connection)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#pool.end()
    clearInterval(this.#watch)
  }
}

function connectionOf({ address }: PostgresSettings): ClientConfig {
  const { host, port, database, user, password, tls } = address
  return {
    host,
    port,
    database,
    user,
    ...(password === undefined ? {} : { password }),
    ssl: tls,
    application_name: 'bonded',
    keepAlive: true,
  }
}

/** `\x…`, as PostgreSQL writes bytes. */
function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'))
}
