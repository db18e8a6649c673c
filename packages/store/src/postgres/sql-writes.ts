import type { ChangeNotification } from '@bonded/core/ports/bus'
import type { Cause } from '@bonded/core/ports/store'
import { POSTGRES } from '../dialect.ts'
import type { SessionKeys } from '../tables/session-keys.ts'
import { sqlTables } from '../tables/tables.ts'
import { BatchQueue } from './batch-queue.ts'
import { mayRunAgain, type PendingWrite } from './pending-write.ts'
import type { BatchStatement } from './server/batch.ts'
import type { Connections } from './server/connections.ts'
import { isNotOnce, OutcomeUnknown, Transaction } from './transaction.ts'

/** The most units of one transaction. They run one after another and share one commit. */
const MAX_UNITS = 8
/** The most transactions of several units at once. What comes meanwhile shares the next one. */
const MAX_GROUPS = 2
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

/**
 * Runs units that write. Those of a turn of the event loop share a transaction. If one throws,
 * loses against another node, or has relied on a change that did not happen, the transaction is
 * rolled back, and each unit runs alone.
 */
export class SqlWrites {
  readonly #parts: SqlWriteParts
  readonly #queue: BatchQueue<PendingWrite> = new BatchQueue({
    run: () => this.#finish(this.#queue.take(MAX_UNITS)),
    maxRunning: MAX_GROUPS,
  })
  /** Those that run alone, which can wait for locks without keeping the others waiting. */
  readonly #alone: BatchQueue<PendingWrite>

  constructor(parts: SqlWriteParts) {
    this.#parts = parts
    this.#alone = new BatchQueue({
      run: () => this.#finishAlone(this.#alone.take(1)[0] as PendingWrite),
      // Half of the connections, so that writes never keep reads waiting for one.
      maxRunning: Math.max(1, Math.floor(parts.connections.settings.poolSize / 2)),
    })
  }

  /** How many units wait for a transaction. */
  get waiting(): number {
    return this.#queue.waiting
  }

  add(pending: PendingWrite): void {
    this.#queue.add(pending)
  }

  /** Commits a group, or lets each of its units run alone. Never rejects. */
  async #finish(group: readonly PendingWrite[]): Promise<void> {
    try {
      await this.#transaction(group, SHORT_LOCK_MS)
    } catch (failure) {
      if (failure instanceof OutcomeUnknown) return this.#parts.fail(group, failure.cause)
      for (const pending of group) {
        pending.isCareful ||= isNotOnce(failure)
        this.#alone.add(pending)
      }
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
        if (isNotOnce(failure) && !pending.isCareful) {
          pending.isCareful = true
          continue
        }
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
    const transaction = new Transaction(connection, {
      begin: begin(lockTimeoutMs),
      isCareful: group.some(({ isCareful }) => isCareful),
    })
    const values: unknown[] = []
    try {
      for (const pending of group) {
        cause = pending.cause
        values.push(await transaction.drive(pending.unit(tables)))
      }
    } catch (failure) {
      await connection.abandon()
      throw failure
    }
    await transaction.commit()
    for (let index = 0; index < group.length; index++) group[index]?.resolve(values[index])
    this.#parts.committed(group.length, notifications)
  }
}

function begin(lockTimeoutMs: number): readonly BatchStatement[] {
  return [
    { text: 'begin', values: [] },
    {
      text: `select set_config('lock_timeout', $1, true)`,
      values: [`${Math.ceil(lockTimeoutMs)}ms`],
    },
  ]
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
