import { randomUUID } from 'node:crypto'
import type { SessionId, TenantId } from '@bonded/contract'
import type { Bus, Callers, ChangeNotification } from '@bonded/core/ports/bus'
import type { StoredEvent } from '@bonded/core/ports/tables/session-table'
import type { DatabaseClock } from '../clock/database-clock.ts'
import { eventFromRow, sessionFromRow } from '../tables/session-row.ts'
import type { Row } from '../statement.ts'
import type { Connection, Connections } from './server/connections.ts'
import { TIME } from './server/server-state.ts'
import { OwnChanges } from './own-changes.ts'

/**
 * The channel of `LISTEN` and `NOTIFY`. A notification only says that there is something to read.
 */
const CHANNEL = 'bonded_changes'
/** Changes within this time share one notification. */
const GATHER_MS = 2
/**
 * How far apart notifications are under load. Each makes every other node read, which costs more
 * than the notification. A change after a quiet moment is not delayed.
 */
const NOTIFY_INTERVAL_MS = 20
/**
 * After a crash or a failover, the database can give the number of an aborted transaction to a new
 * one. After a lost connection the feed therefore reads this many transactions again. Subscribers
 * ignore the changes that they already have.
 */
const LOOK_BACK = 10_000n
/** The pause before a lost listening connection is opened again. Reads find changes meanwhile. */
const RELISTEN_MS = 1_000

/** The numbers of the transactions that the previous snapshot does not contain. */
const RANGES = `select $1::text::xid8 as first, pg_snapshot_xmax(pg_current_snapshot()) as last
    union all select xid, xid from unnest($2::text[]::xid8[]) as in_progress (xid)`

/**
 * The events that were committed after the previous snapshot: those of transactions that began
 * after it, and those of transactions that it saw in progress. A number alone, such as a sequence,
 * would miss a transaction that commits later than one with a higher number.
 *
 * The planner does not know how few events are new, and would read all of them, and all sessions.
 * For a range with two bounds it assumes few, for an array ten, and `lateral` with `limit` reads
 * session by session. No visible transaction is after the end of the snapshot.
 */
const NEWER = `select event.session_key, session.id as session_id, event.seq, event.kind,
    event.at, event.state, event.hint, session.tenant_id,
    (select token_hash from device where device.id = session.device_id) as token_hash
  from (
    ${RANGES}
  ) range
  cross join lateral unnest(array(
    select session_event from session_event
    where xid between range.first and range.last and seq is not null
  )) as event
  cross join lateral (
    select id, tenant_id, device_id from session
    where session.session_key = event.session_key limit 1
  ) session
  order by event.seq`
/** One read for all of them: a read for each watched session would cost more than the rest. */
const SESSIONS = `select session.* from unnest($1::text[]::bigint[]) as watched (session_key)
  cross join lateral (
    select * from session where session.session_key = watched.session_key limit 1
  ) session`
/**
 * A notification needs no flush to the disk, because it only makes others read sooner. Without this
 * it would hold the lock of all notifications for as long.
 */
const NOTIFY = `select set_config('synchronous_commit', 'off', true), pg_notify('${CHANNEL}', $1)`
const SNAPSHOT = `select pg_current_snapshot()::text as snapshot, ${TIME}`
/** Whether there is something to read, in one message: without a notification there rarely is. */
const PROBE = `${SNAPSHOT}, (exists (
  select 1 from (${RANGES}) range cross join lateral (
    select 1 from session_event where xid between range.first and range.last and seq is not null
    limit 1
  ) event))::int as newer`

/** A session with its new events. */
interface Newer {
  readonly sessionId: SessionId
  readonly key: number
  readonly callers: Callers
  readonly events: [StoredEvent, ...StoredEvent[]]
}

/** What a node has read: all transactions before `xmax`, except those that were in progress. */
interface Position {
  readonly xmax: string
  readonly inProgress: readonly string[]
}

/**
 * Finds the changes that other nodes and commands have committed. It does not depend on
 * notifications: they only make it read sooner. It finds each once, except after a lost connection,
 * and none of its own node, except one whose commit is answered after the read.
 */
export class ChangeFeed implements AsyncDisposable {
  readonly #connections: Connections
  readonly #bus: Bus
  readonly #clock: DatabaseClock | undefined
  readonly #own = new OwnChanges()
  /** Names this node in its notifications. */
  readonly #name = randomUUID()
  #position: Position | undefined
  /** How many connections were lost before the position was read. */
  #losses = 0
  /** The last call; it never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  /** Whether a call is scheduled. It will also find the change of a notification that comes now. */
  #willPublish = false
  #listening: { end(): Promise<void> } | undefined
  #relisten: NodeJS.Timeout | undefined
  #announce: NodeJS.Timeout | undefined
  #announcedAt = Number.NEGATIVE_INFINITY
  #closed = false

  /**
   * @param parts.bus gets what a notification has led to, and knows which sessions have watchers
   * @param parts.clock gets the time of the server with each read
   */
  constructor(
    connections: Connections,
    parts: { readonly bus: Bus; readonly clock?: DatabaseClock | undefined },
  ) {
    this.#connections = connections
    this.#bus = parts.bus
    this.#clock = parts.clock
  }

  /** Whether other processes can wake this one. */
  get isListening(): boolean {
    return this.#listening !== undefined
  }

  /** Records a change of this node, and wakes the other nodes. */
  committed({ sessionId, seq }: ChangeNotification): void {
    // Without a position this process does not read changes, so it needs to remember none.
    if (this.#position !== undefined) this.#own.record(sessionId, seq)
    if (this.#announce !== undefined) return
    const next = this.#announcedAt + NOTIFY_INTERVAL_MS - performance.now()
    this.#announce = setTimeout(
      () => {
        this.#announce = undefined
        this.#announcedAt = performance.now()
        void this.#notify()
      },
      Math.max(next, GATHER_MS),
    )
  }

  /**
   * Returns the changes of others since the last call. The first call starts at the present and
   * begins to listen. Calls run one after another, so that each change is in one result only,
   * except after a lost connection.
   */
  next(): Promise<readonly ChangeNotification[]> {
    return this.#inTurn(async () => ((await this.#hasNewer()) ? this.#read() : []))
  }

  #inTurn(
    read: () => Promise<readonly ChangeNotification[]>,
  ): Promise<readonly ChangeNotification[]> {
    const found = this.#last.then(read)
    this.#last = found.catch(() => undefined)
    return found
  }

  /** Whether there may be changes since the last read. If there are none, the position moves on. */
  async #hasNewer(): Promise<boolean> {
    if (this.#position === undefined || this.#connections.losses !== this.#losses) return true
    const connection = await this.#connections.take()
    try {
      const askedAt = this.#clock?.machineTime() ?? 0
      const values = valuesOf(this.#position)
      const [found] = (await connection.run({ text: PROBE, values })) as readonly Row[]
      this.#clock?.read({ askedAt, databaseTime: Number(found?.time) })
      if (found?.newer === 0) this.#position = positionOf(String(found.snapshot))
      return found?.newer !== 0
    } finally {
      connection.release()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    clearTimeout(this.#relisten)
    if (this.#announce !== undefined) {
      clearTimeout(this.#announce)
      await this.#notify()
    }
    await this.#listening?.end().catch(() => undefined)
  }

  async #read(): Promise<readonly ChangeNotification[]> {
    this.#own.beginRead()
    let succeeded = false
    try {
      const found = await this.#readOthers()
      succeeded = true
      return found
    } finally {
      this.#own.endRead(succeeded)
    }
  }

  async #readOthers(): Promise<readonly ChangeNotification[]> {
    const { losses } = this.#connections
    const looksBack = losses !== this.#losses
    const connection = await this.#connections.take()
    let snapshot: Row | undefined
    let found: readonly ChangeNotification[]
    try {
      // One snapshot for all statements: what it does not contain is found by the next call.
      connection.sendAhead({ text: 'begin isolation level repeatable read, read only', values: [] })
      const askedAt = this.#clock?.machineTime() ?? 0
      const [newer, [position]] = await Promise.all([
        this.#position === undefined
          ? []
          : newerThan(connection, looksBack ? backFrom(this.#position) : this.#position),
        connection.run({ text: SNAPSHOT, values: [] }) as Promise<readonly Row[]>,
      ])
      this.#clock?.read({ askedAt, databaseTime: Number(position?.time) })
      const others = this.#unlessOwn(newer)
      // After a look back, each watcher reads only the events that it does not have yet.
      found = looksBack ? [...others].map(withoutChange) : await this.#changesOf(connection, others)
      snapshot = position
      connection.sendAhead({ text: 'commit', values: [] })
      connection.release()
    } catch (failure) {
      await connection.abandon()
      throw failure
    }
    const isFirst = this.#position === undefined
    this.#position = positionOf(String(snapshot?.snapshot))
    this.#losses = losses
    if (isFirst) void this.#listen()
    return found
  }

  /** The events of other nodes, by session. */
  #unlessOwn(rows: readonly Row[]): Iterable<Newer> {
    const found = new Map<SessionId, Newer>()
    for (const row of rows) {
      const sessionId = row.session_id as SessionId
      const event = eventFromRow(row)
      // If this node has changed the session later, its watchers have read this event too.
      if (this.#own.has(sessionId, event.seq)) continue
      const known = found.get(sessionId)
      if (known === undefined)
        found.set(sessionId, {
          sessionId,
          key: Number(row.session_key),
          callers: callersOf(row),
          events: [event],
        })
      else known.events.push(event)
    }
    return found.values()
  }

  /** Reads the watched ones of the sessions, which their watchers would otherwise do one by one. */
  async #changesOf(
    connection: Connection,
    newer: Iterable<Newer>,
  ): Promise<readonly ChangeNotification[]> {
    const changes = [...newer]
    const keys = changes
      .filter(({ sessionId }) => this.#bus.isWatched(sessionId))
      .map(({ key }) => key)
    const rows = keys.length === 0 ? [] : await rowsOf(connection, keys)
    const sessions = new Map(rows.map((row) => [row.id as SessionId, row]))
    return changes.map((each) => {
      const row = sessions.get(each.sessionId)
      if (row === undefined) return withoutChange(each)
      const { events } = each
      return { ...withoutChange(each), change: { session: sessionFromRow(row), events } }
    })
  }

  async #notify(): Promise<void> {
    try {
      const connection = await this.#connections.take()
      try {
        await connection.run({ text: NOTIFY, values: [this.#name] })
      } finally {
        connection.release()
      }
    } catch {
      // The other nodes read the change at their next scheduled read.
    }
  }

  async #listen(): Promise<void> {
    if (this.#closed) return
    try {
      this.#listening = await this.#connections.listen(CHANNEL, {
        // This node has published its own changes already.
        onNotification: (sender) => void (sender !== this.#name && this.#publishNext()),
        onEnd: () => this.#listenLater(),
      })
      if (this.#closed) await this.#listening.end()
      // Notifications that were sent before this connection are lost.
      else await this.#publishNext()
    } catch {
      this.#listenLater()
    }
  }

  #listenLater(): void {
    this.#listening = undefined
    if (!this.#closed) this.#relisten = setTimeout(() => void this.#listen(), RELISTEN_MS).unref()
  }

  async #publishNext(): Promise<void> {
    if (this.#willPublish) return
    this.#willPublish = true
    await this.#last
    this.#willPublish = false
    try {
      for (const change of await this.#inTurn(() => this.#read())) this.#bus.publish(change)
    } catch {
      // The next scheduled read finds the changes.
    }
  }
}

async function newerThan(connection: Connection, position: Position): Promise<readonly Row[]> {
  return (await connection.run({ text: NEWER, values: valuesOf(position) })) as readonly Row[]
}

function valuesOf({ xmax, inProgress }: Position): readonly string[] {
  // An array in PostgreSQL's own spelling.
  return [xmax, `{${inProgress.join(',')}}`]
}

async function rowsOf(connection: Connection, keys: readonly number[]): Promise<readonly Row[]> {
  const values = [`{${keys.join(',')}}`]
  return (await connection.run({ text: SESSIONS, values })) as readonly Row[]
}

function withoutChange({ sessionId, events, callers }: Newer): ChangeNotification {
  return { sessionId, seq: events.at(-1)?.seq ?? 0, callers }
}

function callersOf(row: Row): Callers {
  return {
    tenantId: row.tenant_id as TenantId,
    tokenHash: (row.token_hash ?? null) as Uint8Array | null,
  }
}

/** Parses `xmin:xmax:xip,xip,…`. */
function positionOf(snapshot: string): Position {
  const [, xmax = '', inProgress = ''] = snapshot.split(':')
  return { xmax, inProgress: inProgress === '' ? [] : inProgress.split(',') }
}

function backFrom({ xmax }: Position): Position {
  const back = BigInt(xmax) - LOOK_BACK
  return { xmax: String(back > 0n ? back : 0n), inProgress: [] }
}
