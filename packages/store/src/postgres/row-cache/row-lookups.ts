import type { BatchRows, BatchStatement } from '../server/batch.ts'
import { BatchQueue } from '../batch-queue.ts'
import { ABSENT, type RowKey, type RowCache, type VersionedRow } from './row-cache.ts'
import { groupsOf, readRows, type WantedRow } from './row-queries.ts'

/** How many reads may be under way. What is asked meanwhile shares the next one. */
const MAX_READS = 2

/** A row to look up, and the cached one, if any. */
export interface AskedRow extends WantedRow {
  readonly row?: VersionedRow | undefined
}

/** The rows by the text of their keys: the cached ones, where they are current. */
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
  readonly #cache: RowCache
  readonly #queue = new BatchQueue<Asked>({ run: () => this.#read(), maxRunning: MAX_READS })

  constructor(run: (statements: readonly BatchStatement[]) => Promise<BatchRows>, cache: RowCache) {
    this.#run = run
    this.#cache = cache
  }

  /** How many calls wait for a read that has not begun. */
  get waiting(): number {
    return this.#queue.waiting
  }

  ask(rows: readonly AskedRow[]): Promise<FoundRows> {
    const { promise, resolve, reject } = Promise.withResolvers<FoundRows>()
    this.#queue.add({ rows, resolve, reject })
    return promise
  }

  async #read(): Promise<void> {
    const asked = this.#queue.take()
    try {
      // Of several callers with different cached versions, each one gets the current row.
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
    const [returned = []] = await this.#run([readRows(groups)])
    const server = returned.find(([group]) => group === '-1')?.[2] ?? ''
    // Versions of another server mean nothing.
    if (!this.#cache.isFrom(server)) {
      const all = [...wanted.values()].map(({ key }) => [key.text, { key, version: null }] as const)
      if ([...wanted.values()].some(({ version }) => version !== null))
        return this.#ask(new Map(all))
    }
    const found = new Map<string, VersionedRow>()
    for (const [group, place, version = null, text = null] of returned) {
      if (group === '-1') continue
      const asked = groups[Number(group)]?.wanted[Number(place) - 1]
      if (asked === undefined)
        throw new Error('the server has returned a row that was not asked for')
      const row = this.#rowOf(asked, version, text)
      found.set(asked.key.text, row)
    }
    return found
  }

  #rowOf(asked: AskedRow, version: string | null, text: string | null): VersionedRow {
    const { key, row } = asked
    // Another caller may have asked for the same row without a cached one.
    if (text === null && version !== null && row !== undefined) return row
    const current = version === null ? ABSENT : read(key, version, text)
    this.#cache.set(key, current)
    return current
  }
}

function read(key: RowKey, version: string, text: string | null): VersionedRow {
  return { version, value: key.kind.read(JSON.parse(text ?? 'null') as never, version) }
}
