/** Prints one JSON document, or the lines for a person. */
export function print(
  options: { readonly json?: boolean | undefined },
  document: unknown,
  lines: readonly string[],
): void {
  process.stdout.write(
    options.json === true ? `${JSON.stringify(document, null, 2)}\n` : `${lines.join('\n')}\n`,
  )
}

/** Rows with aligned columns under a heading. Without rows, the sentence that says so. */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  empty: string,
): readonly string[] {
  if (rows.length === 0) return [empty]
  const all = [heading, ...rows]
  const widths = heading.map((_, column) =>
    Math.max(...all.map((cells) => cells[column]?.length ?? 0)),
  )
  return all.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** One line for each member of a document, names in a column of their own. */
export function fields(document: object): readonly string[] {
  const entries = Object.entries(document)
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${text(value)}`)
}

/** An instant in ISO 8601; null where there is none. */
export function isoTime(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
