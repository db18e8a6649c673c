import type { ChangeNotification } from '@bonded/core/ports/bus'
import type { Cause, Tables, Unit } from '@bonded/core/ports/store'
import type { Statement } from '../../statement.ts'
import { type BatchStatement } from '../server/batch.ts'
import { ABSENT, type RowKey, type RowCache, type VersionedRow } from './row-cache.ts'
import { exactlyOnce, type WantedRow } from './row-queries.ts'

/** Yielded by the tables over the cache where rows are not there. */
export class MissingRows {
  readonly keys: readonly RowKey[]

  constructor(keys: readonly RowKey[]) {
    this.keys = keys
  }
}

/** A row is not in the cache. */
export const MISSING = Symbol('missing')

/** Yielded by the tables over the cache for what only SQL can do. */
export const NEEDS_SQL = Symbol('needs SQL')

interface RowUse extends WantedRow {
  readonly row: VersionedRow
}

/** How one run of a unit over the cached rows ended. */
export type RunEnd<T> =
  | { readonly is: 'finished'; readonly value: T }
  | { readonly is: 'missing'; readonly keys: readonly RowKey[] }
  /** The unit runs on SQL instead: it needs more than the cached rows, or has thrown. */
  | { readonly is: 'sql' }

/** One run of a unit over the cached rows: what it has read, and what it would write. */
export class UnitRun {
  readonly #cache: RowCache
  readonly #foundRows: ReadonlyMap<string, VersionedRow>
  readonly #isCareful: boolean
  /** Every row that the unit has read, or whose absence it relies on. */
  readonly used = new Map<string, RowUse>()
  /** The rows as the unit leaves them. Undefined if the new row is not known. */
  readonly changed = new Map<string, { readonly key: RowKey; readonly value: unknown }>()
  readonly statements: BatchStatement[] = []
  readonly subjectIds = new Set<string>()
  readonly notifications: ChangeNotification[] = []
  readonly cause: Cause | undefined
  readonly mayWrite: boolean

  /**
   * @param options.foundRows the rows that the database has returned during this call
   * @param options.isCareful whether to treat cached rows that change often as missing
   */
  constructor(
    cache: RowCache,
    options: {
      readonly foundRows: ReadonlyMap<string, VersionedRow>
      readonly cause?: Cause | undefined
      readonly mayWrite: boolean
      readonly isCareful: boolean
    },
  ) {
    this.#cache = cache
    this.#foundRows = options.foundRows
    this.mayWrite = options.mayWrite
    this.#isCareful = options.isCareful
    this.cause = options.cause
  }

  /** The row with the changes of this run. */
  find<Value>(key: RowKey<Value>): Value | undefined | typeof MISSING | typeof NEEDS_SQL {
    const changed = this.changed.get(key.text)
    if (changed !== undefined)
      return changed.value === undefined ? NEEDS_SQL : (changed.value as Value)
    const known = this.used.get(key.text)
    if (known !== undefined) return known.row.value as Value | undefined
    const row = this.#foundRows.get(key.text) ?? this.#cached(key) ?? this.#assumed(key)
    if (row === undefined) return MISSING
    this.used.set(key.text, { key, version: row.version, row })
    return row.value as Value | undefined
  }

  /** Runs the unit without a pause. It writes nothing to the database. */
  drive<T>(unit: Unit<T>, tables: Tables): RunEnd<T> {
    try {
      const work = unit(tables)
      let step = work.next()
      while (step.done !== true) {
        if (step.value instanceof MissingRows) return { is: 'missing', keys: step.value.keys }
        const given = this.#take(step.value as Statement | typeof NEEDS_SQL)
        if (given === undefined) return { is: 'sql' }
        step = work.next(given)
      }
      return { is: 'finished', value: step.value }
    } catch {
      // It may have thrown because a cached row is outdated.
      return { is: 'sql' }
    }
  }

  /** Whether all that the run has used is as the database has returned it. */
  isOf(foundRows: ReadonlyMap<string, VersionedRow>): boolean {
    for (const [text, { version }] of this.used) {
      const row = foundRows.get(text)
      if (row === undefined || row.version !== version) return false
    }
    return true
  }

  /** Whether both may share a transaction: neither reads or writes a row that the other writes. */
  isApartFrom(other: UnitRun): boolean {
    for (const text of this.changed.keys())
      if (other.used.has(text) || other.changed.has(text)) return false
    for (const text of other.changed.keys()) if (this.used.has(text)) return false
    return true
  }

  #cached(key: RowKey): VersionedRow | undefined {
    return this.#isCareful && key.kind.changesOften ? undefined : this.#cache.get(key)
  }

  #assumed({ kind }: RowKey): VersionedRow<never> | undefined {
    return this.mayWrite && kind.isUsuallyAbsent ? ABSENT : undefined
  }

  /** @returns the result that the unit goes on with, or undefined if it cannot be known */
  #take(statement: Statement | typeof NEEDS_SQL): number | undefined {
    if (statement === NEEDS_SQL || !this.mayWrite) return undefined
    // SQL reports the missing value as an error of this unit alone.
    if (statement.values.includes(undefined as never)) return undefined
    if (statement.ahead) {
      this.statements.push(statement)
      return 0
    }
    if (!statement.usuallyOnce) return undefined
    this.statements.push(exactlyOnce(statement))
    return 1
  }
}
