import type { QueryResult } from 'pg'
import { StoreError } from '../../../../ports/store.ts'
import type { Row } from '../../statement.ts'
import { type DatabaseAddress, type DatabaseHost, shownAt } from './database-url.ts'
import { problemOf, SERVER_STATE } from './server-state.ts'

/** Sends SQL without parameters on a new connection. */
type Query = (text: string) => Promise<QueryResult<Row>>

/** The server behind a connection. A server that was promoted continues on a new timeline. */
export interface Origin {
  /** Differs between servers that are not copies of each other. */
  readonly cluster: string
  /** Undefined where the server has none: a failover is then its own affair. */
  readonly timeline: string | undefined
}

/** The first digits of the name of a log file are its timeline, which a standby cannot tell. */
const ORIGIN = `select system_identifier::text as cluster,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline from pg_control_system()`
/** An undefined function, a feature that is not supported, no right to call it. */
const HAS_NO_LOG: readonly unknown[] = ['42883', '0A000', '42501']

const OLD_PRIMARY =
  'it is an old primary: another server was promoted in its place. Stop it, and rebuild it as a standby of the new primary.'

/** The server of a connection is a standby. Another server may be the primary. */
export class StandbyError extends StoreError {}

/**
 * The servers that the URL of the database lists, of which one is the primary. Connections are
 * opened to the server that was the primary last, and to the next one when that fails.
 */
export class Servers {
  readonly #address: DatabaseAddress
  #at = 0
  /** The newest timeline of each cluster that a connection has reached. */
  readonly #newest = new Map<string, string>()
  readonly #onPromotion: () => void

  /** @param onPromotion called when a connection finds that another server was promoted */
  constructor(address: DatabaseAddress, onPromotion: () => void) {
    this.#address = address
    this.#onPromotion = onPromotion
  }

  get count(): number {
    return this.#address.hosts.length
  }

  /** The server for new connections. */
  get current(): DatabaseHost {
    return this.#address.hosts[this.#at] as DatabaseHost
  }

  /** Chooses the next server, if no other connection has done so already. */
  leave(host: DatabaseHost): void {
    if (host === this.current) this.#at = (this.#at + 1) % this.count
  }

  /**
   * Checks that a new connection has reached a primary that can be written, and whose commits are
   * durable. A primary becomes a standby only by a restart, which ends its connections.
   *
   * @throws {StoreError} with the fix
   */
  async admit(host: DatabaseHost, query: Query): Promise<Origin> {
    const [state = {}] = (await query(SERVER_STATE)).rows
    const refuse = (problem: string) => {
      const where = shownAt(this.#address, [host])
      const Refusal = String(state.standby) === 'true' ? StandbyError : StoreError
      throw new Refusal(`${where} cannot be used: ${problem}`, { kind: 'unsuitable', where })
    }
    const problem = problemOf(state)
    if (problem !== undefined) refuse(problem)
    const origin = await originOf(query)
    const { cluster, timeline } = origin
    if (timeline === undefined) return origin
    const newest = this.#newest.get(cluster)
    if (newest !== undefined && timeline < newest) refuse(OLD_PRIMARY)
    this.#newest.set(cluster, timeline)
    if (newest !== undefined && timeline > newest) this.#onPromotion()
    return origin
  }

  /** Whether another server was promoted after the connection was opened. */
  isOld({ cluster, timeline }: Origin): boolean {
    return timeline !== undefined && timeline < (this.#newest.get(cluster) ?? '')
  }
}

async function originOf(query: Query): Promise<Origin> {
  try {
    const [row] = (await query(ORIGIN)).rows
    return { cluster: String(row?.cluster), timeline: String(row?.timeline) }
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure && HAS_NO_LOG.includes(failure.code))
      return { cluster: '', timeline: undefined }
    throw failure
  }
}
