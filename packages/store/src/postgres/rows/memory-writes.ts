import type { ChangeNotification } from '@bonded/core/ports/bus'
import { BatchError, type BatchRows, type BatchStatement } from '../server/batch.ts'
import type { Connections } from '../server/connections.ts'
import { classify } from '../postgres-errors.ts'
import type { MemoryUnits, Ran, WritingUnit } from './memory-units.ts'
import type { RowMemory } from './row-memory.ts'
import { checkRows, groupsOf, lockSubjects } from './row-queries.ts'
import type { UnitRun } from './unit-run.ts'

/** The most units of one transaction. */
const MAX_UNITS = 16
/**
 * The most units that run to fill one transaction. A unit that touches the same rows as one already
 * chosen waits for the next transaction and then runs again, so a higher number repeats more work.
 */
const MAX_RUNS = 4 * MAX_UNITS
/** The most transactions at once. Units that arrive meanwhile share the next one and its sync. */
const MAX_GROUPS = 2
/** How often a unit runs on memory before it runs on SQL. */
const MAX_ATTEMPTS = 3
/** How many lookups of missing rows it may need. Each can reveal the key of the next row. */
const MAX_LOOKUPS = 8
/**
 * If more than this share of recent units met outdated rows, units read the rows that change often
 * before they use them. The share is high where the calls of one session go to several nodes.
 */
const MANY_OUTDATED = 0.1
/** The weight of the latest unit in that share. */
const WEIGHT = 0.02
/** The SQLSTATE of a division by zero: a row has another version, or a guard did not hold. */
const CHECK_FAILED = '22012'

/** A unit that waits for its transaction. */
export interface PendingWrite extends WritingUnit {
  readonly resolve: (value: unknown) => void
  readonly reject: (failure: unknown) => void
  attempts: number
  lookups: number
  /** Whether it had failed together with others, and now runs alone. */
  isAlone: boolean
  /** Whether a connection was lost before its commit was sent. It may run once more. */
  hasLostConnection: boolean
  /** Until when the call may wait for locks, in all of its attempts, by `performance.now`. */
  readonly lockUntil: number
}

interface Prepared {
  readonly pending: PendingWrite
  readonly run: UnitRun
  readonly value: unknown
}

export interface MemoryWriteParts {
  readonly connections: Connections
  readonly units: MemoryUnits
  readonly memory: RowMemory
  /** Runs a unit on SQL instead. */
  readonly bySql: (pending: PendingWrite) => void
  readonly committed: (units: number, notifications: readonly ChangeNotification[]) => void
  /** Ends units whose commit may or may not have taken effect. They must not run again. */
  readonly unknown: (group: readonly PendingWrite[], cause: unknown) => void
}

/**
 * Runs units that write on the rows in memory, and sends all that they write in one batch. The
 * batch locks the sessions and fails unless every row that a unit has read is still the same, so
 * that a commit proves that nothing was outdated. What memory cannot answer runs on SQL.
 */
export class MemoryWrites {
  readonly #parts: MemoryWriteParts
  #waiting: PendingWrite[] = []
  #groups = 0
  #scheduled = false
  /** The share of units, of late, whose rows in memory were outdated. */
  #outdated = 0

  constructor(parts: MemoryWriteParts) {
    this.#parts = parts
  }

  /** How many units wait for a transaction. */
  get waiting(): number {
    return this.#waiting.length
  }

  add(pending: PendingWrite): void {
    this.#waiting.push(pending)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled || this.#groups >= MAX_GROUPS) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#groups++
      void this.#commitGroup().finally(() => {
        this.#groups--
        if (this.#waiting.length > 0) this.#schedule()
      })
    })
  }

  async #commitGroup(): Promise<void> {
    const { connections, bySql } = this.#parts
    // The units run after this wait, because they read the clock and would be late.
    const connection = await connections.take().catch(() => undefined)
    if (connection === undefined) {
      for (const pending of this.#waiting.splice(0)) {
        pending.hasLostConnection = true
        bySql(pending)
      }
      return
    }
    const group = this.#gather()
    // What did not fit waits for the next transaction.
    if (this.#waiting.length > 0) this.#schedule()
    const { server } = this.#parts.memory
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
    for (const pending of this.#waiting.splice(0, MAX_RUNS)) {
      if (group.length >= MAX_UNITS || (pending.isAlone && group.length > 0)) {
        later.push(pending)
        continue
      }
      const isCareful = this.#outdated > MANY_OUTDATED
      const ran = this.#parts.units.run(pending, { isCareful })
      const { run, end } = ran
      if (end.is === 'missing') void this.#prepare(pending, ran)
      // A unit that wrote nothing was perhaps refused because of an outdated row. SQL decides, with
      // the row locked.
      else if (end.is === 'sql' || run.statements.length === 0) this.#parts.bySql(pending)
      else if (group.every((other) => !other.pending.isAlone && other.run.isApartFrom(run)))
        group.push({ pending, run, value: end.value })
      else later.push(pending)
    }
    this.#waiting.unshift(...later)
    return group
  }

  /** Reads what a run has missed, and lets the unit wait again. */
  async #prepare(pending: PendingWrite, ran: Ran<unknown>): Promise<void> {
    try {
      await this.#lookUp(pending, ran)
      pending.lookups++
      if (pending.lookups < MAX_LOOKUPS) this.add(pending)
      else this.#parts.bySql(pending)
    } catch {
      this.#parts.bySql(pending)
    }
  }

  #committed(
    group: readonly Prepared[],
    { rows, server }: { readonly rows: BatchRows; readonly server: string },
  ): void {
    const { memory, committed } = this.#parts
    const check = rows[group.some(({ run }) => run.subjectIds.size > 0) ? 1 : 0]
    const version = check?.[0]?.[0] ?? ''
    const isSameServer = memory.server === server
    for (const { pending, run } of group) {
      if (run.used.size > 0 && pending.answered.size === 0) this.#outdated *= 1 - WEIGHT
      for (const { key, value } of run.changed.values())
        if (value === undefined || !isSameServer) memory.delete(key)
        else memory.set(key, { version: versionOf(run, key.text, version), value })
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
    const mayTryAgain = codeOf(cause) === CHECK_FAILED
    for (const each of group) {
      const { pending } = each
      pending.attempts++
      pending.hasLostConnection = isLost
      if (mayTryAgain && pending.attempts < MAX_ATTEMPTS) void this.#tryAgain(each, group.length)
      else bySql(pending)
    }
  }

  async #lookUp(pending: PendingWrite, ran: Ran<unknown>): Promise<void> {
    const { found, wasOutdated } = await this.#parts.units.lookUp(ran)
    pending.answered = new Map([...pending.answered, ...found])
    this.#outdated += WEIGHT * ((wasOutdated ? 1 : 0) - this.#outdated)
  }

  /** Runs a unit again if a row that it has used was outdated, or if another unit was the cause. */
  async #tryAgain({ pending, run, value }: Prepared, units: number): Promise<void> {
    try {
      await this.#lookUp(pending, { run, end: { is: 'finished', value } })
      if (run.isOf(pending.answered) && units === 1) return this.#parts.bySql(pending)
      pending.isAlone = units > 1
      this.add(pending)
    } catch {
      this.#parts.bySql(pending)
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
