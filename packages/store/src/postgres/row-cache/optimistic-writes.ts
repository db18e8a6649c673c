import type { ChangeNotification } from '@bonded/core/ports/bus'
import { BatchError, type BatchRows, type BatchStatement } from '../server/batch.ts'
import { BatchQueue } from '../batch-queue.ts'
import { MAX_RUNS, type PendingWrite } from '../pending-write.ts'
import type { Connections } from '../server/connections.ts'
import { classify } from '../postgres-errors.ts'
import type { OptimisticUnits, Ran } from './optimistic-units.ts'
import type { RowCache } from './row-cache.ts'
import { checkRows, groupsOf, lockSubjects } from './row-queries.ts'
import type { UnitRun } from './unit-run.ts'

/** The most units of one transaction. */
const MAX_UNITS = 16
/**
 * The most units that run to fill one transaction. A unit that touches the same rows as one already
 * chosen waits for the next transaction and then runs again, so a higher number repeats more work.
 */
const MAX_TAKEN = 4 * MAX_UNITS
/** The most transactions at once. Units that arrive meanwhile share the next one and its sync. */
const MAX_GROUPS = 2
/**
 * If more than this share of recent units met outdated rows, units read the rows that change often
 * before they use them. The share is high where the calls of one session go to several nodes.
 */
const MANY_OUTDATED = 0.1
/** The weight of the latest unit in that share. */
const WEIGHT = 0.02
/** The SQLSTATE of a division by zero: a row has another version, or a guard did not hold. */
const CHECK_FAILED = '22012'

interface Prepared {
  readonly pending: PendingWrite
  readonly run: UnitRun
  readonly value: unknown
}

export interface OptimisticWriteParts {
  readonly connections: Connections
  readonly units: OptimisticUnits
  readonly cache: RowCache
  /** Runs a unit on SQL instead. */
  readonly bySql: (pending: PendingWrite) => void
  readonly committed: (units: number, notifications: readonly ChangeNotification[]) => void
  /** Ends units whose commit may or may not have taken effect. They must not run again. */
  readonly unknown: (group: readonly PendingWrite[], cause: unknown) => void
}

/**
 * Runs units that write on the cached rows, and sends all that they write in one batch. The
 * batch locks the sessions and fails unless every row that a unit has read is still the same, so
 * that a commit proves that nothing was outdated. What the cache cannot do runs on SQL.
 */
export class OptimisticWrites {
  readonly #parts: OptimisticWriteParts
  readonly #queue = new BatchQueue<PendingWrite>({
    run: () => this.#commitGroup(),
    maxRunning: MAX_GROUPS,
  })
  /** The share of units, of late, whose cached rows were outdated. */
  #outdated = 0

  constructor(parts: OptimisticWriteParts) {
    this.#parts = parts
  }

  /** How many units wait for a transaction. */
  get waiting(): number {
    return this.#queue.waiting
  }

  add(pending: PendingWrite): void {
    this.#queue.add(pending)
  }

  async #commitGroup(): Promise<void> {
    const { connections, bySql } = this.#parts
    // The units run after this wait, because they read the clock and would be late.
    const connection = await connections.take().catch(() => undefined)
    if (connection === undefined) {
      for (const pending of this.#queue.take()) {
        pending.hasLostConnection = true
        bySql(pending)
      }
      return
    }
    const group = this.#gather()
    const { server } = this.#parts.cache
    try {
      if (group.length === 0) return
      const rows = await connection.runBatch(batchOf(group, server))
      this.#committed(group, { rows, server })
    } catch (failure) {
      this.#failed(group, failure)
    } finally {
      connection.release()
    }
  }

  /** Runs the waiting units that can share a transaction. */
  #gather(): readonly Prepared[] {
    const group: Prepared[] = []
    const later: PendingWrite[] = []
    for (const pending of this.#queue.take(MAX_TAKEN)) {
      if (group.length >= MAX_UNITS || (pending.isAlone && group.length > 0)) {
        later.push(pending)
        continue
      }
      const isCareful = this.#outdated > MANY_OUTDATED
      const ran = this.#parts.units.run(pending, { isCareful })
      const { run, end } = ran
      if (end.is === 'missing') void this.#runAgain(pending, ran)
      // A unit that wrote nothing was perhaps refused because of an outdated row. SQL decides, with
      // the row locked.
      else if (end.is === 'sql' || run.statements.length === 0) this.#parts.bySql(pending)
      else if (group.every((other) => !other.pending.isAlone && other.run.isApartFrom(run)))
        group.push({ pending, run, value: end.value })
      else later.push(pending)
    }
    this.#queue.putBack(later)
    return group
  }

  /**
   * Reads the rows that a run has used or missed, and lets the unit run on them with the next
   * group. After a group has failed, each of its units runs alone. SQL, with locks, runs a unit
   * that has failed alone on current rows, or that has run too often.
   *
   * @param failedWith how many units were in the group that failed; 0 if a row was missing
   */
  async #runAgain(pending: PendingWrite, ran: Ran<unknown>, failedWith = 0): Promise<void> {
    pending.runs++
    try {
      if (pending.runs >= MAX_RUNS) return this.#parts.bySql(pending)
      const { found, wasOutdated } = await this.#parts.units.lookUp(ran)
      pending.foundRows = new Map([...pending.foundRows, ...found])
      this.#outdated += WEIGHT * ((wasOutdated ? 1 : 0) - this.#outdated)
      if (failedWith === 1 && ran.run.isOf(pending.foundRows)) return this.#parts.bySql(pending)
      if (failedWith > 0) pending.isAlone = failedWith > 1
      this.add(pending)
    } catch {
      this.#parts.bySql(pending)
    }
  }

  #committed(
    group: readonly Prepared[],
    { rows, server }: { readonly rows: BatchRows; readonly server: string },
  ): void {
    const { cache, committed } = this.#parts
    const check = rows[group.some(({ run }) => run.subjectIds.size > 0) ? 1 : 0]
    const version = check?.[0]?.[0] ?? ''
    const isSameServer = cache.server === server
    for (const { pending, run } of group) {
      if (run.used.size > 0 && pending.foundRows.size === 0) this.#outdated *= 1 - WEIGHT
      for (const { key, value } of run.changed.values())
        if (value === undefined || !isSameServer) cache.delete(key)
        else cache.set(key, { version: versionOf(run, key.text, version), value })
    }
    const notifications = group.flatMap(({ run }) => run.notifications)
    for (const { pending, value } of group) pending.resolve(value)
    committed(group.length, notifications)
  }

  #failed(group: readonly Prepared[], failure: unknown): void {
    const { unknown, bySql } = this.#parts
    const pendings = group.map(({ pending }) => pending)
    if (failure instanceof BatchError && failure.mayBeCommitted)
      return unknown(pendings, failure.cause)
    const cause = failure instanceof BatchError ? failure.cause : failure
    const isLost = classify(cause).kind === 'lost'
    const isCheck = codeOf(cause) === CHECK_FAILED
    for (const { pending, run, value } of group) {
      pending.hasLostConnection = isLost
      if (isCheck)
        void this.#runAgain(pending, { run, end: { is: 'finished', value } }, group.length)
      else bySql(pending)
    }
  }
}

/** The version of a device ends with the block of its subject, which the unit has not changed. */
function versionOf(run: UnitRun, text: string, version: string): string {
  return run.used.get(text)?.version?.endsWith('b') === true ? `${version}b` : version
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}

function batchOf(group: readonly Prepared[], server: string): readonly BatchStatement[] {
  const rows = new Map(group.flatMap(({ run }) => [...run.used]))
  const subjectIds = new Set(group.flatMap(({ run }) => [...run.subjectIds]))
  return [
    ...(subjectIds.size === 0 ? [] : [lockSubjects(subjectIds)]),
    checkRows(groupsOf(rows.values()), server),
    ...group.flatMap(({ run }) => run.statements),
  ]
}
