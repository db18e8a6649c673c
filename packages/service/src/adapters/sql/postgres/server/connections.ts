import type { ClientConfig, Pool, PoolClient, QueryResult } from 'pg'
import type { Row, SqlValue, Statement } from '../../statement.ts'
import {
  BatchError,
  type BatchRows,
  type BatchStatement,
  batchClass,
  type PreparedNames,
} from './batch.ts'
import type { DatabaseAddress, DatabaseHost } from './database-url.ts'
import { classify } from '../postgres-errors.ts'
import { type ServerClient, serverClients } from './server-client.ts'
import { Servers, StandbyError } from './servers.ts'

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

/** SQLSTATE of a write on a server that only reads. */
const READ_ONLY = '25006'
/** The SQLSTATE of a commit whose outcome is unknown. */
const UNKNOWN_OUTCOME = '08007'

type Client = ServerClient & PoolClient
type Driver = Pick<typeof import('pg'), 'Client' | 'Pool' | 'Query' | 'types'>

/** A connection for one transaction or one read. */
export class Connection {
  readonly #client: Client
  readonly #pool: Connections
  #failed: Error | undefined
  /** The failure of a statement that was sent ahead. */
  #aheadFailed: unknown
  #sentAt = 0
  #inFlight = 0

  constructor(client: Client, pool: Connections) {
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
      const { warnings } = this.#client
      this.#client.query(new this.#pool.batch({ statements, names, resolve, reject }))
      const rows = await promise
      if (this.#client.warnings > warnings) throw new BatchError(unconfirmed(), true)
      return rows
    } catch (failure) {
      // The server closes a connection after it has reported that it stops.
      if (
        failure instanceof BatchError &&
        (classify(failure.cause).kind === 'lost' || isReadOnly(failure.cause))
      )
        this.#failed = failure
      throw failure
    } finally {
      this.#end()
    }
  }

  /** @returns whether the transaction was committed; false if the server rolled it back */
  async commit(): Promise<boolean> {
    const { warnings } = this.#client
    const { command } = await this.#send({ text: 'commit', values: [] })
    if (this.#aheadFailed !== undefined) throw this.#aheadFailed
    if (this.#client.warnings > warnings) throw unconfirmed()
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
    if (this.#inFlight > 0 && this.#sentAt <= since) this.#close('the connection hangs')
  }

  /** Closes a connection to a server in whose place another one was promoted. */
  closeIfOld(servers: Servers): void {
    if (servers.isOld(this.#client.origin)) this.#close('another server was promoted')
  }

  #close(why: string): void {
    this.#failed = new Error(why)
    this.#client.destroy(this.#failed)
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
    } catch (failure) {
      // A new connection notices when the server can be written again, or finds another server.
      if (isReadOnly(failure)) this.#failed = failure
      throw failure
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
  readonly #newClient: () => ServerClient
  readonly #servers: Servers
  readonly #settings: PostgresSettings
  readonly #inUse = new Set<Connection>()
  readonly #listening = new Set<ServerClient>()
  readonly #names = new Map<string, string>()
  readonly #watch: NodeJS.Timeout
  readonly batch: ReturnType<typeof batchClass>
  readonly #prepared = new WeakMap<PoolClient, PreparedNames>()
  #losses = 0
  #closed = false

  private constructor(pg: Driver, settings: PostgresSettings) {
    this.#settings = settings
    this.batch = batchClass(pg.Query)
    this.#servers = new Servers(settings.address, () => this.#closeOld())
    const { statementTimeoutMs, lockTimeoutMs, poolSize } = settings
    const define = (config: ClientConfig) =>
      serverClients(pg.Client, {
        servers: this.#servers,
        configOf: (host) => ({
          ...connectionOf(settings.address, host),
          statement_timeout: statementTimeoutMs,
          ...config,
        }),
      })
    const Listening = define({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
    this.#newClient = () => new Listening()
    this.#pool = new pg.Pool({
      max: poolSize,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_MS,
      Client: define({
        pipeline: true,
        lock_timeout: lockTimeoutMs,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
        types: {
          getTypeParser(oid: number, format?: string) {
            if (oid === INT8) return Number
            if (oid === BYTEA) return bytesOf
            return pg.types.getTypeParser(oid, format as 'text')
          },
        },
      }),
    })
    // A connection that breaks while it is idle is replaced at the next use.
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', (client) => client.on('error', () => this.#losses++))
    const longest = statementTimeoutMs + CONNECT_TIMEOUT_MS
    this.#watch = setInterval(() => {
      const since = performance.now() - longest
      for (const connection of this.#inUse) connection.closeIfHanging(since)
    }, WATCH_MS).unref()
  }

  /** Loads the driver. No connection is opened before the first use. */
  static async open(settings: PostgresSettings): Promise<Connections> {
    // Loaded here, because a service on SQLite does not need the driver.
    const { default: pg } = await import('pg')
    return new Connections(pg, settings)
  }

  get settings(): PostgresSettings {
    return this.#settings
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** How many connections have broken. It rises whenever the server crashed or was replaced. */
  get losses(): number {
    return this.#losses
  }

  /**
   * Takes a connection for this caller alone. Each server is tried once.
   *
   * @throws the failure of the primary if a standby failed too
   */
  async take(): Promise<Connection> {
    let failure: unknown
    for (let left = this.#servers.count; left > 0; left--) {
      const tried = this.#servers.current
      try {
        const connection = new Connection(await this.#takeCurrent(), this)
        this.#inUse.add(connection)
        return connection
      } catch (cause) {
        if (failure === undefined || failure instanceof StandbyError) failure = cause
        if (tried === this.#servers.current || this.#closed) break
      }
    }
    throw failure
  }

  /** Opens a connection of its own that listens to a channel, and reports the payloads. */
  async listen(
    channel: string,
    {
      onNotification,
      onEnd,
    }: { onNotification: (payload: string | undefined) => void; onEnd: () => void },
  ): Promise<{ end(): Promise<void> }> {
    const client = this.#newClient()
    client.on('notification', ({ payload }) => onNotification(payload))
    await client.connect()
    this.#listening.add(client)
    client.on('end', () => {
      this.#listening.delete(client)
      onEnd()
    })
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

  /** Leaves out the idle connections to a server in whose place another one was promoted. */
  async #takeCurrent(): Promise<Client> {
    for (;;) {
      const client = (await this.#pool.connect()) as Client
      if (!this.#servers.isOld(client.origin)) return client
      client.release(true)
    }
  }

  /** Nothing more is read from, or acknowledged by, an old primary. */
  #closeOld(): void {
    this.#losses++
    for (const connection of this.#inUse) connection.closeIfOld(this.#servers)
    for (const client of this.#listening)
      if (this.#servers.isOld(client.origin))
        client.destroy(new Error('another server was promoted'))
  }
}

function connectionOf(address: DatabaseAddress, { host, port }: DatabaseHost): ClientConfig {
  const { database, user, password, tls } = address
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

function isReadOnly(failure: unknown): failure is Error {
  return failure instanceof Error && 'code' in failure && failure.code === READ_ONLY
}

/**
 * The failure of a commit with a warning: an administrator who cancels the wait for a synchronous
 * standby makes the server confirm what a failover would lose.
 */
function unconfirmed(): Error {
  const failure = new Error('the server committed with a warning')
  return Object.assign(failure, { code: UNKNOWN_OUTCOME })
}

/** `\x…`, as PostgreSQL writes bytes. */
function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'))
}
