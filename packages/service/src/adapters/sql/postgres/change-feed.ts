import type { SessionId } from '@bonded/contract'
import type { ChangeNotification } from '../../../ports/bus.ts'
import type { Row } from '../statement.ts'
import type { Connection, Connections } from './connections.ts'

/** A session with the number of its latest event. */
type Change = Pick<ChangeNotification, 'sessionId' | 'seq'>

/** The channel of `LISTEN` and `NOTIFY`. A notification only says that there is something to read. */
const CHANNEL = 'bonded_changes'
/** Changes of this time share a notification. */
const GATHER_MS = 2
/** The pause before a lost listening connection is opened again. Reads find changes meanwhile. */
const RELISTEN_MS = 1_000

/**
 * The events that were committed after the previous snapshot: those of transactions that began
 * after it, and those of transactions that it saw in progress. A number alone, such as a sequence,
 * would miss a transaction that commits later than one with a higher number.
 */
const NEWER = `select session.id as session_id, max(session_event.seq) as seq
  from session_event join session using (session_key)
  where (xid >= $1::text::xid8 or xid = any($2::text[]::xid8[])) and session_event.seq is not null
  group by session.id`
const SNAPSHOT = 'select pg_current_snapshot()::text as snapshot'

/** What a node knows: all transactions before `xmax`, except those in progress. */
interface Position {
  readonly xmax: string
  readonly inProgress: readonly string[]
}

/**
 * Finds the changes that other nodes and commands have committed, each once. It does not depend on
 * notifications: they only make it read sooner.
 */
export class ChangeFeed implements AsyncDisposable {
  readonly #connections: Connections
  readonly #publish: (change: Change) => void
  /** The latest event of each session that this node has committed and published itself. */
  readonly #own = new Map<SessionId, number>()
  #position: Position | undefined
  /** The last call; it never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  /** Whether a call waits that will find whatever a notification is about. */
  #willPublish = false
  #listening: { end(): Promise<void> } | undefined
  #relisten: NodeJS.Timeout | undefined
  #announce: NodeJS.Timeout | undefined
  #closed = false

  constructor(connections: Connections, publish: (change: Change) => void) {
    this.#connections = connections
    this.#publish = publish
  }

  /** Records a change of this node, and wakes the other nodes. */
  committed({ sessionId, seq }: Change): void {
    // Without a position this process does not read changes, so it needs to remember none.
    if (this.#position !== undefined)
      this.#own.set(sessionId, Math.max(seq, this.#own.get(sessionId) ?? 0))
    this.#announce ??= setTimeout(() => {
      this.#announce = undefined
      void this.#notify()
    }, GATHER_MS)
  }

  /**
   * Returns the changes of others since the last call. The first call starts at the present and
   * begins to listen. Calls run one after another, so that each change is in one result only.
   */
  next(): Promise<readonly Change[]> {
    const found = this.#last.then(() => this.#read())
    this.#last = found.catch(() => undefined)
    return found
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

  async #read(): Promise<readonly Change[]> {
    const connection = await this.#connections.take()
    let found: readonly Row[] = []
    let snapshot: Row | undefined
    try {
      // One snapshot for both statements: what it does not contain is found by the next call.
      connection.sendAhead({ text: 'begin isolation level repeatable read, read only', values: [] })
      if (this.#position !== undefined) found = await newerThan(connection, this.#position)
      ;[snapshot] = (await connection.run({ text: SNAPSHOT, values: [] })) as readonly Row[]
      connection.sendAhead({ text: 'commit', values: [] })
      connection.release()
    } catch (failure) {
      await connection.abandon()
      throw failure
    }
    const isFirst = this.#position === undefined
    this.#position = positionOf(String(snapshot?.snapshot))
    if (isFirst) void this.#listen()
    return found.flatMap((row) => this.#unlessOwn(row))
  }

  #unlessOwn(row: Row): readonly Change[] {
    const [sessionId, seq] = [row.session_id as SessionId, Number(row.seq)]
    const own = this.#own.get(sessionId) ?? 0
    if (own <= seq) this.#own.delete(sessionId)
    return own >= seq ? [] : [{ sessionId, seq }]
  }

  async #notify(): Promise<void> {
    try {
      const connection = await this.#connections.take()
      try {
        await connection.run({ text: `select pg_notify('${CHANNEL}', '')`, values: [] })
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
        onNotification: () => void this.#publishNext(),
        onEnd: () => this.#listenLater(),
      })
      if (this.#closed) await this.#listening.end()
      // Notifications from before are lost.
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
      for (const change of await this.next()) this.#publish(change)
    } catch {
      // The next scheduled read finds the changes.
    }
  }
}

async function newerThan(
  connection: Connection,
  { xmax, inProgress }: Position,
): Promise<readonly Row[]> {
  // An array in PostgreSQL's own spelling.
  const values = [xmax, `{${inProgress.join(',')}}`]
  return (await connection.run({ text: NEWER, values })) as readonly Row[]
}

/** Parses `xmin:xmax:xip,xip,…`. */
function positionOf(snapshot: string): Position {
  const [, xmax = '', inProgress = ''] = snapshot.split(':')
  return { xmax, inProgress: inProgress === '' ? [] : inProgress.split(',') }
}
