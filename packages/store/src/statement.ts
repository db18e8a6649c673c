import type { Work } from '@bonded/core/ports/work'

/** A value of a column. `undefined` is excluded, because SQLite would silently write NULL. */
export type SqlValue = string | number | null | Uint8Array

/** One statement of the subset that SQLite and PostgreSQL share, with `$1`, `$2`, … as values. */
export interface Statement {
  readonly text: string
  readonly values: readonly SqlValue[]
  /** Whether the result is the number of changed rows instead of rows. */
  readonly counts?: true
  /** Whether the unit continues without the result, so that a driver need not wait for it. */
  readonly ahead?: true
  /**
   * Whether the statement usually changes exactly one row, and returns at most that one. A driver
   * may then go on as if it had, provided that the transaction fails if it did not.
   */
  readonly usuallyOnce?: true
}

/** Statements in one message. Each of them sees what those before it have done. */
export interface Together {
  readonly together: readonly Statement[]
}

export type Row = Readonly<Record<string, SqlValue>>

/** Runs a statement and returns its rows. */
export function* rows(text: string, values: readonly SqlValue[]): Work<readonly Row[]> {
  return (yield { text, values } satisfies Statement) as readonly Row[]
}

/** Runs a statement and returns its first row, if there is one. */
export function* row(text: string, values: readonly SqlValue[]): Work<Row | undefined> {
  const found = yield* rows(text, values)
  return found.length === 0 ? undefined : found[0]
}

/** Runs a statement and returns the number of rows that it changed. */
export function* changed(text: string, values: readonly SqlValue[]): Work<number> {
  return (yield { text, values, counts: true } satisfies Statement) as number
}

/** Like `changed`, for a statement that usually changes exactly one row. */
export function* changedOnce(text: string, values: readonly SqlValue[]): Work<number> {
  return (yield { text, values, counts: true, usuallyOnce: true } satisfies Statement) as number
}

/** Runs a statement whose result the unit does not need. */
export function* sent(text: string, values: readonly SqlValue[]): Work<void> {
  yield { text, values, counts: true, ahead: true } satisfies Statement
}

/** Runs statements in one message, and returns the first row of each, if there is one. */
export function* rowOfEach(together: readonly Statement[]): Work<readonly (Row | undefined)[]> {
  const found = (yield { together } satisfies Together) as readonly (readonly Row[])[]
  return found.map(([first]) => first)
}
