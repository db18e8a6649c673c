import type { ClientConfig, Pool, PoolClient } from 'pg'
import { batchClass, type PreparedNames } from './batch.ts'
import { ClosedConnection } from '../postgres-errors.ts'
import { type Client, Connection, REFUSED } from './connection.ts'
import type { DatabaseAddress, DatabaseHost } from './database-url.ts'
import { type ServerClient, serverClients } from './server-client.ts'
import { RESPONSE_WITHIN_MS, ServerSurvey } from './server-survey.ts'
import { Servers, StandbyError } from './servers.ts'
import { refusesOptions, SESSION_OPTIONS } from './session-settings.ts'

export type { Connection } from './connection.ts'

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

type Driver = Pick<typeof import('pg'), 'Client' | 'Pool' | 'Query' | 'types'>

/** The connections of one node. Statements of a connection are pipelined. */
export class Connections implements AsyncDisposable {
  readonly #pool: Pool
  readonly #newClient: () => ServerClient
  readonly #servers: Servers
  readonly #survey: ServerSurvey
  readonly #settings: PostgresSettings
  readonly #inUse = new Set<Connection>()
  readonly #listening = new Set<ServerClient>()
  readonly #names = new Map<string, string>()
  /** How many changes of the schema have outdated prepared statements. */
  #schemas = 0
  readonly #watch: NodeJS.Timeout
  readonly batch: ReturnType<typeof batchClass>
  readonly #prepared = new WeakMap<PoolClient, PreparedNames>()
  /** Whether the server has accepted the options of a connection, or has not been asked. */
  #sendsOptions = true
  #losses = 0
  #closed = false

  /** The connections of the pool, and the calls that wait for one. */
  counts(): { usedConnections: number; idleConnections: number; waitingCalls: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return {
      usedConnections: totalCount - idleCount,
      idleConnections: idleCount,
      waitingCalls: waitingCount,
    }
  }

  private constructor(pg: Driver, settings: PostgresSettings) {
    this.#settings = settings
    const readerOf = (type: number) => {
      if (type === INT8) return Number
      if (type === BYTEA) return bytesOf
      return pg.types.getTypeParser(type, 'text')
    }
    this.batch = batchClass(pg.Query, readerOf)
    const { address, statementTimeoutMs, lockTimeoutMs, poolSize } = settings
    this.#servers = new Servers(address, {
      onChange: () => this.#closeRejected(),
      survey: () => this.#survey.run(),
    })
    const configOf = (host: DatabaseHost, config: ClientConfig) => ({
      ...connectionOf(address, host),
      statement_timeout: statementTimeoutMs,
      ...config,
    })
    const responseWithin = {
      connectionTimeoutMillis: RESPONSE_WITHIN_MS,
      query_timeout: RESPONSE_WITHIN_MS,
    }
    this.#survey = new ServerSurvey({
      hosts: address.hosts,
      newClient: (host) => new pg.Client(configOf(host, responseWithin)),
      found: (servers, askedAt) => this.#servers.found(servers, askedAt),
    })
    const define = (config: ClientConfig) =>
      serverClients(pg.Client, {
        servers: this.#servers,
        configOf: (host) => ({
          ...configOf(host, config),
          ...(this.#sendsOptions ? { options: SESSION_OPTIONS } : {}),
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
          getTypeParser: readerOf,
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

  /** The server of the latest connection. */
  get server(): DatabaseHost {
    return this.#servers.current
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
      const sendsOptions = this.#sendsOptions
      try {
        const connection = new Connection(await this.#takeCurrent(), this)
        this.#inUse.add(connection)
        return connection
      } catch (cause) {
        if (sendsOptions && refusesOptions(cause)) {
          // The check of each connection then decides.
          this.#sendsOptions = false
          left++
          continue
        }
        if (failure === undefined || failure instanceof StandbyError) failure = cause
        if (tried === this.#servers.current || this.#closed) break
      }
    }
    throw failure
  }

  /** Runs `work` on a connection of the pool. */
  async run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.take()
    try {
      return await work(connection)
    } finally {
      connection.release()
    }
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
      name = `bonded_${this.#schemas}_${this.#names.size}`
      this.#names.set(text, name)
    }
    return name
  }

  /** Gives all statements new names, so that each connection prepares them for the new schema. */
  schemaChanged(): void {
    this.#schemas++
    this.#names.clear()
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
    this.#survey[Symbol.dispose]()
    await this.#pool.end()
    clearInterval(this.#watch)
  }

  /** Leaves out the idle connections to a server that must no longer be used. */
  async #takeCurrent(): Promise<Client> {
    for (;;) {
      const client = (await this.#pool.connect()) as Client
      if (!this.#servers.isRejected(client.origin)) return client
      client.release(true)
    }
  }

  /** Nothing more is read from, or acknowledged by, a server that must no longer be used. */
  #closeRejected(): void {
    this.#losses++
    for (const connection of this.#inUse) connection.closeIfRejected(this.#servers)
    for (const client of this.#listening)
      if (this.#servers.isRejected(client.origin)) client.destroy(new ClosedConnection(REFUSED))
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

/** `\x…`, as PostgreSQL writes bytes. */
function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), 'hex'))
}
