import { GenerationCache } from '@bonded/core/collections/generation-cache'
import { KINDS, type RowKind } from './row-kinds.ts'

/** A row as some transaction has stored it, or its absence. It never changes. */
export interface VersionedRow<Value = unknown> {
  /** Null if no row has the key. */
  readonly version: string | null
  readonly value: Value | undefined
}

/** The key of one row. */
export interface RowKey<Value = unknown> {
  readonly kind: RowKind<Value>
  readonly parts: readonly (string | number)[]
  /** Unique among all kinds. */
  readonly text: string
}

export const ABSENT: VersionedRow<never> = { version: null, value: undefined }
/**
 * How long a row may stay in the cache. A server gives each transaction the next number of 32 bits,
 * so a version cannot recur within days.
 */
const MAX_AGE_MS = 60 * 60_000

export function rowKey<Value>(
  kind: RowKind<Value>,
  ...parts: readonly (string | number)[]
): RowKey<Value> {
  return { kind, parts, text: `${kind.name} ${parts.join(' ')}` }
}

/**
 * Rows that a node has read or written, with their versions. An entry may be outdated, but it is
 * always what the transaction of its version has stored. A result may depend on it only if a
 * statement that begins after the call finds the same version in the database.
 */
export class RowCache {
  readonly #rows = new Map<string, GenerationCache<string, VersionedRow>>(
    Object.values(KINDS).map(({ name, maxRows }) => [name, new GenerationCache(maxRows)]),
  )
  #server: string | undefined
  #clearAt = 0

  get<Value>({ kind, text }: RowKey<Value>): VersionedRow<Value> | undefined {
    return this.#rows.get(kind.name)?.get(text) as VersionedRow<Value> | undefined
  }

  /** Missing rows are not kept, because invented keys would displace the rows in use. */
  set<Value>({ kind, text }: RowKey<Value>, row: VersionedRow<Value>): void {
    const rows = this.#rows.get(kind.name)
    if (row.version === null) rows?.delete(text)
    else rows?.set(text, row)
  }

  delete({ kind, text }: RowKey): void {
    this.#rows.get(kind.name)?.delete(text)
  }

  /** The server whose transactions the versions name; empty before the first read. */
  get server(): string {
    if (performance.now() >= this.#clearAt) this.#clear(this.#server)
    return this.#server ?? ''
  }

  /**
   * Drops all rows if another server has responded. After a failover, other transactions have the
   * same numbers.
   *
   * @param server when its process has started, which differs for each server and each start
   * @returns whether it is the same server as before
   */
  isFrom(server: string): boolean {
    if (server === this.server) return true
    this.#clear(server)
    return false
  }

  #clear(server: string | undefined): void {
    for (const rows of this.#rows.values()) rows.clear()
    this.#server = server
    this.#clearAt = performance.now() + MAX_AGE_MS
  }
}
