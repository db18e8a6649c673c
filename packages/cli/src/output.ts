import { escapeHidden, escapeHiddenJson } from '@bonded/contract'

/**
 * Prints one JSON document, or lines for a reader. Stored text can hold terminal escape sequences,
 * so hidden characters are printed as escapes, line breaks within a line among them.
 */
export function print(
  options: { readonly json?: boolean | undefined },
  document: unknown,
  lines: readonly string[],
): void {
  process.stdout.write(
    options.json === true
      ? `${escapeHiddenJson(JSON.stringify(document, null, 2))}\n`
      : `${lines.map(escapeHidden).join('\n')}\n`,
  )
}

/** Says what long work does now: on stderr, and on a terminal only. */
export function showStep({ json }: { readonly json?: boolean | undefined }, step: string): void {
  if (json !== true && process.stderr.isTTY) process.stderr.write(`${step} …\n`)
}

/**
 * Members of documents as aligned columns, under the names that they have in JSON, in capitals.
 * Without documents, the sentence that says so.
 */
export function table<Name extends string>(
  names: readonly Name[],
  documents: readonly Readonly<Record<Name, unknown>>[],
  empty: string,
): readonly string[] {
  if (documents.length === 0) return [empty]
  const heading = names.map((name) => name.toUpperCase())
  const all = [heading, ...documents.map((document) => names.map((name) => text(document[name])))]
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
