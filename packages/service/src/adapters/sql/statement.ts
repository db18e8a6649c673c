import type { Work } from '../../ports/store.ts'

/** What a column holds. `undefined` is refused: SQLite would quietly write NULL for it. */
export type SqlValue = string | number | null | Uint8Array

/** One statement of the subset that SQLite and PostgreSQL share, with `$1`, `$2`, … for its values. */
export interface Statement {
  readonly text: string
  readonly values: readonly SqlValue[]
  /** Answered by the number of rows it changed, not by rows. */
  readonly counts?: true
}

export type Row = Readonly<Record<string, SqlValue>>

/** Runs a statement and answers its rows. */
export function* rows(text: string, values: readonly SqlValue[]): Work<readonly Row[]> {
  return (yield { text, values } satisfies Statement) as readonly Row[]
}

/** Runs a statement and answers its first row, if it has one. */
export function* row(text: string, values: readonly SqlValue[]): Work<Row | undefined> {
  const found = yield* rows(text, values)
  return found.length === 0 ? undefined : found[0]
}

/** Runs a statement that changes rows, and answers how many it changed. */
export function* changed(text: string, values: readonly SqlValue[]): Work<number> {
  return (yield { text, values, counts: true } satisfies Statement) as number
}
