import type { Row, SqlValue } from '../statement.ts'

/** Columns whose member has another name than theirs in camelCase, or that have no member. */
type Exceptions<T> = Readonly<Record<string, (keyof T & string) | null>>

/** Columns, each with the member of the record that it stores. */
export function membersOf<T>(
  columns: readonly string[],
  exceptions: Exceptions<T> = {},
): readonly (readonly [column: string, member: keyof T & string])[] {
  return columns.flatMap((column) => {
    const member =
      column in exceptions ? exceptions[column] : (camelCase(column) as keyof T & string)
    return member == null ? [] : [[column, member] as const]
  })
}

/**
 * Reads the record of a row, whose members are named as these columns. Members in JSON stay text.
 * Other columns are left out, such as those that a newer program has added.
 */
export function recordReader<T>(
  columns: readonly string[],
  exceptions?: Exceptions<T>,
): (found: Row) => T {
  const members = membersOf<T>(columns, exceptions)
  return (found) => {
    const record: Partial<Record<keyof T, SqlValue>> = {}
    for (const [column, member] of members) record[member] = found[column] ?? null
    return record as T
  }
}

function camelCase(column: string): string {
  return column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
