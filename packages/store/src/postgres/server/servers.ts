import type { QueryResult } from 'pg'
import { StoreError } from '@bonded/core/ports/store'
import type { Row } from '../../statement.ts'
import { type DatabaseAddress, type DatabaseHost, shownAt } from './database-url.ts'
import { ORIGIN, type Origin, originFromRow, type SurveyedServer } from './server-survey.ts'
import { problemOf, SERVER_STATE } from './server-state.ts'

/** Sends SQL without parameters on a new connection. */
type Query = (text: string) => Promise<QueryResult<Row>>

/** An undefined function, a feature that is not supported, no right to call it. */
const HAS_NO_LOG: readonly unknown[] = ['42883', '0A000', '42501']

const OLD_PRIMARY =
  'it is an old primary: another server was promoted in its place. Stop it, and rebuild it as a standby of the new primary.'

/** Surveys are a second apart, or two if a server does not respond. */
const CONFIRMED_FOR_MS = 3_000

/** The server of a connection is a standby. Another server may be the primary. */
export class StandbyError extends StoreError {}

/**
 * The servers that the URL of the database lists, of which one is the primary. Connections are
 * opened to the server that was the primary last, and to the next one when that fails.
 */
export class Servers {
  readonly #address: DatabaseAddress
  #at = 0
  /** The newest timeline of each cluster that any server has reported. */
  readonly #newest = new Map<string, string>()
  /** The server that the last survey found to be the newest one that accepts writes. */
  #confirmed: { readonly started: string; readonly at: number } | undefined
  /** Why no server can be used, if two of them accept writes. */
  #conflict: string | undefined
  readonly #onChange: () => void
  readonly #survey: () => Promise<void>

  /**
   * @param options.onChange called when connections may have become unusable: another server was
   *   promoted, or two servers accept writes
   * @param options.survey asks all servers, and calls `found` with their responses
   */
  constructor(
    address: DatabaseAddress,
    options: { readonly onChange: () => void; readonly survey: () => Promise<void> },
  ) {
    this.#address = address
    this.#onChange = options.onChange
    this.#survey = options.survey
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
   * Checks that a new connection has reached a primary that can be written, whose commits are
   * durable, and that no other listed server is newer. A primary becomes a standby only by a
   * restart, which ends its connections.
   *
   * @throws {StoreError} with the fix
   */
  async admit(host: DatabaseHost, query: Query): Promise<Origin> {
    const [state = {}] = (await query(SERVER_STATE)).rows
    const reject = (problem: string) => {
      const where = shownAt(this.#address, [host])
      const Rejection = String(state.standby) === 'true' ? StandbyError : StoreError
      throw new Rejection(`${where} cannot be used: ${problem}`, { kind: 'unsuitable', where })
    }
    const problem = problemOf(state)
    if (problem !== undefined) reject(problem)
    const origin = await originOf(query)
    const { timeline } = origin
    if (timeline === undefined) return origin
    if (this.count > 1 && !this.#isConfirmed(origin)) await this.#survey()
    if (this.#conflict !== undefined) this.#rejectAll(this.#conflict)
    const isNewer = this.#raise(origin)
    if (this.isRejected(origin)) reject(OLD_PRIMARY)
    if (isNewer) this.#onChange()
    return origin
  }

  /** Takes the responses of a survey. */
  found(servers: readonly SurveyedServer[], at: number): void {
    let isNewer = false
    for (const server of servers) isNewer = this.#raise(server) || isNewer
    const writable = servers.filter((each) => each.acceptsWrites && !this.#isOld(each))
    const [first, ...others] = writable
    const other = others.find(({ started }) => started !== first?.started)
    const conflict = first && other && conflictOf(first, other)
    const isConflict = conflict !== undefined && this.#conflict === undefined
    this.#conflict = conflict
    this.#confirmed = first && conflict === undefined ? { started: first.started, at } : undefined
    if (isNewer || isConflict) this.#onChange()
  }

  /** Whether a connection must not be used: its server is old, or not the only one. */
  isRejected(origin: Origin): boolean {
    return origin.timeline !== undefined && (this.#conflict !== undefined || this.#isOld(origin))
  }

  #isOld({ cluster, timeline }: Origin): boolean {
    return timeline !== undefined && timeline < (this.#newest.get(cluster) ?? '')
  }

  /** @returns whether the timeline is newer than one that was known before */
  #raise({ cluster, timeline }: Origin): boolean {
    const newest = this.#newest.get(cluster)
    if (timeline === undefined || timeline <= (newest ?? '')) return false
    this.#newest.set(cluster, timeline)
    return newest !== undefined
  }

  /** Whether a survey has just named the very server. A server that returns has started anew. */
  #isConfirmed({ started }: Origin): boolean {
    if (this.#confirmed?.started !== started) return false
    return performance.now() - this.#confirmed.at < CONFIRMED_FOR_MS
  }

  #rejectAll(problem: string): never {
    const where = this.#address.shown
    throw new StoreError(`${where} cannot be used: ${problem}`, { kind: 'unsuitable', where })
  }
}

function conflictOf(first: SurveyedServer, other: SurveyedServer): string {
  const [one, two] = [first, other].map(({ host }) => `${host.host}:${host.port}`)
  const what =
    first.cluster === other.cluster
      ? `${one} and ${two} both accept writes on timeline ${Number.parseInt(first.timeline ?? '', 16)}, so neither of them is known to have all sessions.`
      : `${one} and ${two} both accept writes, and are not copies of each other.`
  return `${what} Stop the server that must not be the primary, and rebuild it as a standby of the other one. Or remove it from BONDED_DATABASE_URL.`
}

async function originOf(query: Query): Promise<Origin> {
  try {
    const [row = {}] = (await query(ORIGIN)).rows
    return originFromRow(row)
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure && HAS_NO_LOG.includes(failure.code))
      return { cluster: '', timeline: undefined, started: '' }
    throw failure
  }
}
