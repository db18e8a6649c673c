import { fstatSync, fsyncSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { escapeHidden, escapeHiddenJson } from '@bonded/contract'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'

const STDOUT = 1
const isFile = isMainThread && fstatSync(STDOUT).isFile()
/** The codes of a file system that has no sync, as some in user space. It has lost nothing. */
const CANNOT_SYNC = ['EINVAL', 'ENOSYS', 'ENOTSUP']
let failure: NodeJS.ErrnoException | null | undefined

/** The output of a command that did not arrive as a whole. */
export class OutputError extends OperatorError {
  /** Whether its reader has closed the pipe, as `head` does. */
  readonly isUnread: boolean

  constructor(cause: NodeJS.ErrnoException) {
    super(
      `The output was cut off: ${cause.message}. Usually its disk is full. What the command changed is stored. Discard what was written, and print it again elsewhere`,
      { code: 'output_lost', cause },
    )
    this.isUnread = cause.code === 'EPIPE' || cause.code === 'ECONNRESET'
  }
}

/** Writes to stdout, which only this function does. A failure is thrown by `written`. */
export function write(text: string): void {
  if (failure) return
  // The stream of Node for a file drops the rest of a write for which the disk has no room.
  if (isFile) onFile(() => writeFileSync(STDOUT, Buffer.from(text)))
  else process.stdout.write(text, (cause) => (failure ??= cause))
}

function onFile(act: () => void, allowed: readonly unknown[] = []): void {
  try {
    act()
  } catch (cause) {
    if (!allowed.includes((cause as NodeJS.ErrnoException).code))
      failure = cause as NodeJS.ErrnoException
  }
}

/**
 * Waits until the reader, or the disk, has everything that was printed.
 *
 * @throws {OutputError} if a part of it was lost
 */
export async function written(): Promise<void> {
  // A network file system can lack the room that it has promised.
  if (isFile && !failure) onFile(() => fsyncSync(STDOUT), CANNOT_SYNC)
  if (!isFile) await new Promise((done) => process.stdout.write('', done))
  const cause = failure
  failure = undefined
  if (cause) throw new OutputError(cause)
}

/**
 * Prints a secret that cannot be shown again, such as a credential. If the output fails, no one has
 * received the secret, and `undo` ends it.
 *
 * @param undo returns what it did, and what to do now
 * @throws {OperatorError} if the output fails, also if the reader has closed the pipe
 */
export async function printOnce(show: () => void, undo: () => Promise<string>): Promise<void> {
  show()
  try {
    await written()
  } catch (lost) {
    const { message } = (lost as OutputError).cause as Error
    throw new OperatorError(`The output was cut off: ${message}. ${await undo()}`, {
      code: 'output_lost',
      cause: lost,
    })
  }
}

/**
 * Prints one JSON document, or lines for a reader. Stored text can hold terminal escape sequences,
 * so hidden characters are printed as escapes, line breaks within a line among them.
 */
export function print(
  options: { readonly json?: boolean | undefined },
  document: unknown,
  lines: readonly string[],
): void {
  write(
    options.json === true
      ? `${escapeHiddenJson(JSON.stringify(document, null, 2))}\n`
      : `${lines.map(escapeHidden).join('\n')}\n`,
  )
}

/** Prints one of many documents as a line of JSON, which a script can read as it arrives. */
export function printLine(
  { json }: { readonly json?: boolean | undefined },
  document: unknown,
  lines: readonly string[],
): void {
  if (json === true) write(`${escapeHiddenJson(JSON.stringify(document))}\n`)
  else print({}, document, lines)
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
