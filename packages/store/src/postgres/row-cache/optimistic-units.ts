import type { Cause, Tables, Unit } from '@bonded/core/ports/store'
import { POSTGRES } from '../../dialect.ts'
import { MAX_RUNS } from '../pending-write.ts'
import type { SessionKeys } from '../../tables/session-keys.ts'
import { sqlTables } from '../../tables/tables.ts'
import { cachedTables } from './cached-tables.ts'
import { RowCache, type VersionedRow } from './row-cache.ts'
import type { AskedRow, FoundRows, RowLookups } from './row-lookups.ts'
import { type RunEnd, UnitRun } from './unit-run.ts'

const NOTHING: FoundRows = new Map()

/** A unit that writes, and the rows that were read for it from the database. */
interface WritingUnit<T> {
  readonly unit: Unit<T>
  readonly cause: Cause | undefined
  readonly foundRows: FoundRows
}

/** A run, and how it ended. */
export interface Ran<T> {
  readonly run: UnitRun
  readonly end: RunEnd<T>
}

/** Runs units over the cached rows. */
export class OptimisticUnits {
  readonly #cache: RowCache
  readonly #lookups: RowLookups
  readonly #tables: Tables
  #current: UnitRun

  constructor(cache: RowCache, lookups: RowLookups, sessionKeys: SessionKeys) {
    this.#cache = cache
    this.#lookups = lookups
    this.#current = new UnitRun(cache, { foundRows: NOTHING, mayWrite: false, isCareful: false })
    const sql = sqlTables({
      notify: (notification) => this.#current.notifications.push(notification),
      cause: () => this.#current.cause,
      dialect: POSTGRES,
      mayWrite: true,
      sessionKeys,
    })
    this.#tables = cachedTables(sql, { sessionKeys, run: () => this.#current })
  }

  /**
   * Runs a unit that only reads. The result counts only if the database, in one snapshot taken
   * after the call, has all rows in the versions that the unit has used. Each lookup can reveal the
   * key of the next row: a token leads to its device, and the device to its subject.
   *
   * @returns undefined if only SQL can give the result
   */
  async read<T>(unit: Unit<T>): Promise<{ readonly value: T } | undefined> {
    let foundRows = NOTHING
    for (let round = 0; round < MAX_RUNS; round++) {
      const run = new UnitRun(this.#cache, { foundRows, mayWrite: false, isCareful: false })
      const end = this.#drive(run, unit)
      if (end.is === 'sql') return undefined
      if (end.is === 'finished' && run.isOf(foundRows)) return { value: end.value }
      foundRows = await this.#lookups.ask(this.#rowsOf({ run, end }))
      if (end.is === 'finished' && run.isOf(foundRows)) return { value: end.value }
    }
    return undefined
  }

  /**
   * Runs a unit that writes. The caller checks the rows that it has used when it writes.
   *
   * @param options.isCareful whether to treat cached rows that change often as missing
   */
  run<T>(
    { unit, cause, foundRows }: WritingUnit<T>,
    { isCareful }: { isCareful: boolean },
  ): Ran<T> {
    const run = new UnitRun(this.#cache, { foundRows, cause, mayWrite: true, isCareful })
    return { run, end: this.#drive(run, unit) }
  }

  /** Reads the rows that a run has used or missed. */
  async lookUp(ran: Ran<unknown>): Promise<{ found: FoundRows; wasOutdated: boolean }> {
    const asked = this.#rowsOf(ran)
    const returned = await this.#lookups.ask(asked)
    const wasOutdated = asked.some(
      ({ key, version }) => version !== null && returned.get(key.text)?.version !== version,
    )
    // Calls of the same turn share a lookup. This unit keeps only the rows that it asked for.
    const found = new Map<string, VersionedRow>()
    for (const { key } of asked) {
      const row = returned.get(key.text)
      if (row !== undefined) found.set(key.text, row)
    }
    return { found, wasOutdated }
  }

  #rowsOf({ run, end }: Ran<unknown>): readonly AskedRow[] {
    const rows: AskedRow[] = [...run.used.values()]
    if (end.is === 'missing')
      for (const key of end.keys) {
        const row = this.#cache.get(key)
        rows.push({ key, version: row?.version ?? null, row })
      }
    return rows
  }

  #drive<T>(run: UnitRun, unit: Unit<T>): RunEnd<T> {
    this.#current = run
    return run.drive(unit, this.#tables)
  }
}
