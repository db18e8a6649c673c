import type { Client } from 'pg'
import type { Row } from '../../statement.ts'
import type { DatabaseHost } from './database-url.ts'

/** The server behind a connection. A server that was promoted continues on a new timeline. */
export interface Origin {
  /** Differs between servers that are not copies of each other. */
  readonly cluster: string
  /** Undefined where the server has none: a failover is then its own affair. */
  readonly timeline: string | undefined
  /** When the server's process has started: no two servers start in the same microsecond. */
  readonly started: string
}

/** What a listed server has returned. */
export interface SurveyedServer extends Origin {
  readonly host: DatabaseHost
  readonly acceptsWrites: boolean
}

/**
 * The timeline of a primary is in the first digits of the name of its log file. A standby cannot
 * tell that name. It knows the timeline that it receives, or that of its last restart point.
 */
export const ORIGIN = `select system_identifier::text as cluster,
  case when pg_is_in_recovery()
    then lpad(upper(to_hex(greatest(
      (select timeline_id from pg_control_checkpoint()),
      (select min_recovery_end_timeline from pg_control_recovery()),
      (select received_tli from pg_stat_wal_receiver)))), 8, '0')
    else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline,
  extract(epoch from pg_postmaster_start_time())::text as started,
  not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as accepts_writes
  from pg_control_system()`

export function originFromRow(row: Row): Origin {
  return {
    cluster: String(row.cluster),
    timeline: String(row.timeline),
    started: String(row.started),
  }
}

/** How often the listed servers are asked while nothing needs a response. */
const EVERY_MS = 1_000
/** A server that takes longer does not respond. */
export const RESPONSE_WITHIN_MS = 1_000

/** Opens connections for a survey, one to each server. */
type NewClient = (host: DatabaseHost) => Client

/**
 * Asks all listed servers which of them accept writes, and on which timeline: once a second, and
 * when a connection has reached a server that the last survey did not name.
 */
export class ServerSurvey implements Disposable {
  readonly #asked: readonly AskedServer[]
  readonly #found: (servers: readonly SurveyedServer[], askedAt: number) => void
  #current: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** @param options.found gets the servers that have responded, and when they were asked */
  constructor(options: {
    readonly hosts: readonly DatabaseHost[]
    readonly newClient: NewClient
    readonly found: (servers: readonly SurveyedServer[], askedAt: number) => void
  }) {
    this.#asked = options.hosts.map((host) => new AskedServer(host, options.newClient))
    this.#found = options.found
  }

  /** Resolves after a survey that begins after this call. Callers share it. */
  run(): Promise<void> {
    this.#next ??= this.#current.then(() => {
      this.#next = undefined
      this.#current = this.#ask()
      return this.#current
    })
    return this.#next
  }

  [Symbol.dispose](): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const server of this.#asked) server.close()
  }

  async #ask(): Promise<void> {
    if (this.#closed) return
    clearTimeout(this.#timer)
    const askedAt = performance.now()
    const servers = await Promise.all(this.#asked.map((server) => server.ask()))
    if (this.#closed) return this[Symbol.dispose]()
    this.#found(
      servers.filter((server) => server !== undefined),
      askedAt,
    )
    this.#timer = setTimeout(() => void this.run(), EVERY_MS).unref()
  }
}

/** A connection to one server, which is kept for the next survey. */
class AskedServer {
  readonly #host: DatabaseHost
  readonly #newClient: NewClient
  #client: Client | undefined

  constructor(host: DatabaseHost, newClient: NewClient) {
    this.#host = host
    this.#newClient = newClient
  }

  /** @returns undefined if the server does not respond in time, or cannot tell */
  async ask(): Promise<SurveyedServer | undefined> {
    try {
      const client = (this.#client ??= await this.#connect())
      const [row] = (await client.query<Row>(ORIGIN)).rows
      if (row === undefined) return undefined
      const acceptsWrites = Boolean(row.accepts_writes)
      return { ...originFromRow(row), host: this.#host, acceptsWrites }
    } catch {
      this.close()
      return undefined
    }
  }

  close(): void {
    const client = this.#client
    this.#client = undefined
    void client?.end().catch(() => undefined)
  }

  async #connect(): Promise<Client> {
    const client = this.#newClient(this.#host)
    client.on('error', () => {
      if (this.#client === client) this.#client = undefined
    })
    try {
      await client.connect()
    } catch (failure) {
      void client.end().catch(() => undefined)
      throw failure
    }
    return client
  }
}
