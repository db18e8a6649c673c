import type { BatchRows, BatchStatement } from '../server/batch.ts'
import { ABSENT, type RowKey, type RowMemory, type VersionedRow } from './row-memory.ts'
import { groupsOf, readRows, type WantedRow } from './row-queries.ts'

/** How many reads may be under way. What is asked meanwhile shares the next one. */
const MAX_READS = 2

/** A row to look up, and the one in memory, if any. */
export interface AskedRow extends WantedRow {
  readonly row?: VersionedRow | undefined
}

/** The rows by the text of their keys: those in memory, where they are current. */
export type FoundRows = ReadonlyMap<string, VersionedRow>

interface Asked {
  readonly rows: readonly AskedRow[]
  readonly resolve: (found: FoundRows) => void
  readonly reject: (failure: unknown) => void
}

/**
 * Reads rows for all calls of a turn of the event loop, and for those that come while reads are
 * under way, in one statement. A read begins after it was asked for, so it is never older than its
 * call. Each caller's rows are of one snapshot.
 */
export class RowLookups {
  readonly #run: (statements: readonly BatchStatement[]) => Promise<BatchRows>
  readonly #memory: RowMemory
  #waiting: Asked[] = []
  #reads = 0
  #scheduled = false

  constructor(
    run: (statements: readonly BatchStatement[]) => Promise<BatchRows>,
    memory: RowMemory,
  ) {
    this.#run = run
    this.#memory = memory
  }

  /** How many calls wait for a read that has not begun. */
  get waiting(): number {
    return this.#waiting.length
  }

  ask(rows: readonly AskedRow[]): Promise<FoundRows> {
    const { promise, resolve, reject } = Promise.withResolvers<FoundRows>()
    this.#waiting.push({ rows, resolve, reject })
    this.#schedule()
    return promise
  }

  #schedule(): void {
    if (this.#scheduled || this.#reads >= MAX_READS) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      const asked = this.#waiting
      this.#waiting = []
      this.#reads++
      void this.#read(asked).finally(() => {
        this.#reads--
        if (this.#waiting.length > 0) this.#schedule()
      })
    })
  }

  async #read(asked: readonly Asked[]): Promise<void> {
    try {
      // Of several callers with different versions in memory, each one gets the current row.
      const wanted = new Map<string, AskedRow>()
      for (const { rows } of asked)
        for (const row of rows) {
          const other = wanted.get(row.key.text)
          if (other === undefined) wanted.set(row.key.text, row)
          else if (other.version !== row.version)
            wanted.set(row.key.text, { key: row.key, version: null })
        }
      const found = await this.#ask(wanted)
      for (const { resolve } of asked) resolve(found)
    } catch (failure) {
      for (const { reject } of asked) reject(failure)
    }
  }

  async #ask(wanted: ReadonlyMap<string, AskedRow>): Promise<FoundRows> {
    const groups = groupsOf(wanted.values())
    const [answers = []] = await this.#run([readRows(groups)])
    const server = answers.find(([group]) => group === '-1')?.[2] ?? ''
    // Versions of another server mean nothing.
    if (!this.#memory.isFrom(server)) {
      const all = [...wanted.values()].map(({ key }) => [key.text, { key, version: null }] as const)
      if ([...wanted.values()].some(({ version }) => version !== null))
        return this.#ask(new Map(all))
    }
    const found = new Map<string, VersionedRow>()
    for (const [group, place, version = null, text = null] of answers) {
      if (group === '-1') continue
      const asked = groups[Number(group)]?.wanted[Number(place) - 1]
      if (asked === undefined) throw new Error('the server has answered what was not asked')
      const row = this.#rowOf(asked, version, text)
      found.set(asked.key.text, row)
    }
    return found
  }

  #rowOf(asked: AskedRow, version: string | null, text: string | null): VersionedRow {
    const { key, row } = asked
    // Another caller may have asked for the same row without one in memory.
    if (text === null && version !== null && row !== undefined) return row
    const current = version === null ? ABSENT : read(key, version, text)
    this.#memory.set(key, current)
    return current
  }
}

function read(key: RowKey, version: string, text: string | null): VersionedRow {
  return { version, value: key.kind.read(JSON.parse(text ?? 'null') as never, version) }
}
