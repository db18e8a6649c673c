import type { ChangeNotification } from '@bonded/core/ports/bus'
import { type Cause, StoreError } from '@bonded/core/ports/store'
import type { Work } from '@bonded/core/ports/work'
import { POSTGRES } from '../dialect.ts'
import type { SessionKeys } from '../tables/session-keys.ts'
import type { Row, Statement } from '../statement.ts'
import { sqlTables } from '../tables/tables.ts'
import { BatchQueue } from './batch-queue.ts'
import { mayRunAgain, type PendingWrite } from './pending-write.ts'
import { classify } from './postgres-errors.ts'
import type { Connection, Connections } from './server/connections.ts'

/** The most units of one transaction. They run one after another and share one commit. */
const MAX_UNITS = 8
/** The longest pause before a unit runs again, so that two of them do not meet again. */
const MAX_PAUSE_MS = 25
/**
 * How long a unit among others waits for a lock. Two groups can wait for each other, and PostgreSQL
 * notices that only after a second. Alone, a unit waits for what is left of the configured time.
 * One that others have held up until then gets this time as well.
 */
const SHORT_LOCK_MS = 50

interface SqlWriteParts {
  readonly connections: Connections
  readonly sessionKeys: SessionKeys
  readonly committed: (units: number, notifications: readonly ChangeNotification[]) => void
  readonly fail: (group: readonly PendingWrite[], cause: unknown) => void
}

/** A transaction whose commit may or may not have taken effect. It must not run again. */
class OutcomeUnknown extends Error {}

/**
 * Runs units that write statement by statement. The units of a turn of the event loop share a
 * transaction. If one throws or loses against another node, the group is rolled back, and each
 * unit runs alone.
 */
export class SqlWrites {
  readonly #parts: SqlWriteParts
  readonly #queue: BatchQueue<PendingWrite>

  constructor(parts: SqlWriteParts) {
    this.#parts = parts
    this.#queue = new BatchQueue({
      run: () => this.#finish(this.#queue.take(MAX_UNITS)),
      // Half of the connections, so that writes never keep reads waiting for one.
      maxRunning: Math.max(1, Math.floor(parts.connections.settings.poolSize / 2)),
    })
  }

  add(pending: PendingWrite): void {
    this.#queue.add(pending)
  }

  /** Brings every unit of a group to its end. Never rejects. */
  async #finish(group: readonly PendingWrite[]): Promise<void> {
    if (group.length === 1) return this.#finishAlone(group[0] as PendingWrite)
    try {
      await this.#transaction(group, SHORT_LOCK_MS)
    } catch (failure) {
      if (failure instanceof OutcomeUnknown) return this.#parts.fail(group, failure.cause)
      await Promise.all(group.map((pending) => this.#finishAlone(pending)))
    }
  }

  /** Runs a unit until it ends, while its call may still wait for locks. */
  async #finishAlone(pending: PendingWrite): Promise<void> {
    for (let runs = 1; ; runs++) {
      try {
        const leftMs = pending.lockUntil - performance.now()
        return await this.#transaction([pending], Math.max(leftMs, SHORT_LOCK_MS))
      } catch (failure) {
        if (failure instanceof OutcomeUnknown) return this.#parts.fail([pending], failure.cause)
        if (!mayRunAgain(pending, failure, runs) || this.#parts.connections.isClosed)
          return this.#parts.fail([pending], failure)
        await pause(Math.random() * MAX_PAUSE_MS)
      }
    }
  }

  /** Commits all units or none, and then resolves their callers. */
  async #transaction(group: readonly PendingWrite[], lockTimeoutMs: number): Promise<void> {
    const connection = await this.#parts.connections.take()
    const notifications: ChangeNotification[] = []
    let cause: Cause | undefined
    const tables = sqlTables({
      notify: (notification) => notifications.push(notification),
      cause: () => cause,
      dialect: { ...POSTGRES, server: connection.server },
      mayWrite: true,
      sessionKeys: this.#parts.sessionKeys,
    })
    const values: unknown[] = []
    try {
      connection.sendAhead(begin(lockTimeoutMs))
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
    this.#parts.committed(group.length, notifications)
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

function begin(lockTimeoutMs: number): Statement {
  return { text: `begin; set local lock_timeout = '${Math.ceil(lockTimeoutMs)}ms'`, values: [] }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
