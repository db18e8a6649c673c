import type { PoolClient, QueryResult } from 'pg'
import type { Row, SqlValue, Statement } from '../../statement.ts'
import { classify, ClosedConnection, isOutdatedStatement } from '../postgres-errors.ts'
import {
  BatchError,
  type BatchStatement,
  type batchClass,
  type PreparedNames,
  type StatementResult,
} from './batch.ts'
import type { ServerClient } from './server-client.ts'
import type { Servers } from './servers.ts'

/** SQLSTATE of a write on a server that only reads. */
const READ_ONLY = '25006'
/** SQLSTATE of a statement after one that has failed, in the same transaction. */
const TRANSACTION_FAILED = '25P02'
/** The SQLSTATE of a commit whose outcome is unknown. */
const UNKNOWN_OUTCOME = '08007'
/** Why connections are closed after a survey of the servers. */
export const REFUSED = 'another server was promoted, or two servers accept writes'

export type Client = ServerClient & PoolClient

/** What a connection needs of its pool. */
interface ConnectionPool {
  readonly batch: ReturnType<typeof batchClass>
  nameOf(text: string): string | undefined
  namesOn(client: PoolClient): PreparedNames
  /** Prepares all statements anew. */
  schemaChanged(): void
  released(connection: Connection): void
}

/** A connection for one transaction or one read. */
export class Connection {
  readonly #client: Client
  readonly #pool: ConnectionPool
  #failed: Error | undefined
  /** The failure of a statement that was sent ahead. */
  #aheadFailed: unknown
  /** The latest failure that is not the consequence of another one. */
  #cause: unknown
  #sentAt = 0
  #inFlight = 0

  constructor(client: Client, pool: ConnectionPool) {
    this.#client = client
    this.#pool = pool
  }

  /** The cluster and the timeline of its server; empty if it has none. */
  get server(): string {
    const { cluster, timeline } = this.#client.origin
    return timeline === undefined ? '' : `${cluster}/${timeline}`
  }

  /** Runs a statement. Its failure can also be that of an earlier one that was sent ahead. */
  async run(statement: Statement): Promise<readonly Row[] | number> {
    let result: QueryResult<Row>
    try {
      result = await this.#send(statement)
    } catch (failure) {
      // After the earlier failure, PostgreSQL rejects this statement with a code of its own.
      throw (
        this.#aheadFailed ??
        (hasCode(failure, TRANSACTION_FAILED) ? (this.#cause ?? failure) : failure)
      )
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
   * Runs statements in one round trip: as one transaction, or as a part of one that `begin` has
   * begun. After a failure, only the latter is to roll back.
   *
   * @throws {BatchError} if the server rejected it, or the connection was lost
   */
  async runBatch(statements: readonly BatchStatement[]): Promise<readonly StatementResult[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly StatementResult[]>()
    const names = this.#pool.namesOn(this.#client)
    this.#begin()
    try {
      const { warnings } = this.#client
      this.#client.query(new this.#pool.batch({ statements, names, resolve, reject }))
      const rows = await promise
      if (this.#client.warnings > warnings) throw new BatchError(unconfirmed(), true)
      return rows
    } catch (failure) {
      if (failure instanceof BatchError) {
        const { cause } = failure
        if (isOutdatedStatement(cause)) this.#pool.schemaChanged()
        // The server closes a connection after it has reported that it stops.
        if (classify(cause).kind === 'lost' || isReadOnly(cause)) this.#failed = failure
      }
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

  /** Closes a connection whose server has not responded since the instant. */
  closeIfHanging(since: number): void {
    if (this.#inFlight > 0 && this.#sentAt <= since) this.#close('the connection hangs')
  }

  /** Closes a connection to a server that must no longer be used. */
  closeIfRejected(servers: Servers): void {
    if (servers.isRejected(this.#client.origin)) this.#close(REFUSED)
  }

  #close(why: string): void {
    const closed = new ClosedConnection(why)
    this.#failed = closed
    this.#client.destroy(closed)
  }

  async #send({ text, values }: Statement): Promise<QueryResult<Row>> {
    for (let index = 0; index < values.length; index++)
      if (values[index] === undefined) throw new TypeError(`no value for $${index + 1}`)
    this.#begin()
    try {
      // A statement without values can differ each time.
      const name = values.length === 0 ? undefined : this.#pool.nameOf(text)
      return await this.#client.query<Row>({
        text,
        values: values as SqlValue[],
        ...(name === undefined ? {} : { name }),
      })
    } catch (failure) {
      // A new connection notices when the server can be written again, or finds another server.
      if (isReadOnly(failure)) this.#failed = failure
      if (isOutdatedStatement(failure)) this.#pool.schemaChanged()
      if (!hasCode(failure, TRANSACTION_FAILED)) this.#cause = failure
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

function isReadOnly(failure: unknown): failure is Error {
  return hasCode(failure, READ_ONLY)
}

function hasCode(failure: unknown, code: string): failure is Error {
  return failure instanceof Error && 'code' in failure && failure.code === code
}

/**
 * The failure of a commit with a warning: an administrator who cancels the wait for a synchronous
 * standby makes the server confirm what a failover would lose.
 */
function unconfirmed(): Error {
  const failure = new Error('the server committed with a warning')
  return Object.assign(failure, { code: UNKNOWN_OUTCOME })
}
