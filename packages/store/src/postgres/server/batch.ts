import type { Connection as DriverConnection, Query, Submittable } from 'pg'
import type { Row, SqlValue } from '../../statement.ts'

/** One statement of a batch. */
export interface BatchStatement {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** What a statement of a batch has returned. */
export interface StatementResult {
  readonly rows: readonly Row[]
  /** How many rows it returned or changed. */
  readonly count: number
  /** What the server did, such as `UPDATE`. */
  readonly command: string
}

/** A batch that the server rejected, or whose connection was lost. */
export class BatchError extends Error {
  override readonly name = 'BatchError'
  /** Whether the server had run every statement, so that the commit may have taken effect. */
  readonly mayBeCommitted: boolean

  constructor(cause: unknown, mayBeCommitted: boolean) {
    super('the batch failed', { cause })
    this.mayBeCommitted = mayBeCommitted
  }
}

type Read = (text: string) => unknown

interface Column {
  readonly name: string
  readonly read: Read
}

/** A statement on the server, with the columns that it returns. */
interface Prepared {
  columns: readonly Column[]
}

/** The statements that a connection has prepared: their names by text. */
export interface PreparedNames {
  /** Undefined where a pooler cannot keep prepared statements. */
  nameOf(text: string): string | undefined
  /** The statements by name. Undefined if a batch failed that was to prepare it. */
  readonly onServer: Map<string, Prepared | undefined>
}

interface BatchTask {
  readonly statements: readonly BatchStatement[]
  readonly names: PreparedNames
  readonly resolve: (results: readonly StatementResult[]) => void
  readonly reject: (failure: BatchError) => void
}

/** The part of the driver's connection that a batch writes to, as `pg-cursor` does. */
interface Wire {
  readonly stream: { readonly writable: boolean; cork(): void; uncork(): void }
  parse(message: { text: string; name: string | undefined }): void
  describe(message: { type: 'S'; name: string }): void
  bind(message: { statement: string | undefined; values: unknown; valueMapper: unknown }): void
  execute(message: object): void
  close(message: { type: 'S'; name: string }): void
  sync(): void
}

/**
 * Makes the class of batches: several statements in one message, with one synchronization at its
 * end. Without `begin`, the server runs them in one transaction, which it commits there. It skips
 * what follows a failed statement. One round trip therefore costs what a single statement would.
 *
 * It extends the driver's query, because a pipelining connection rejects other classes.
 *
 * @param readerOf converts the text of a column of a type
 */
// oxlint-disable-next-line max-lines-per-function -- one class, which needs its base
export function batchClass(
  Base: typeof Query,
  readerOf: (type: number) => Read,
): new (
  task: BatchTask,
) => Submittable {
  return class Batch extends Base {
    readonly #task: BatchTask
    readonly #prepared: Prepared[] = []
    readonly #prepares: string[] = []
    readonly #results: StatementResult[] = []
    #rows: Row[] = []
    #isSent = false
    #isDone = false

    constructor(task: BatchTask) {
      super('')
      this.#task = task
      this.submit = (connection) => this.#submit(connection as DriverConnection & Wire)
    }

    #submit(wire: Wire): null {
      this.#isSent = wire.stream.writable
      wire.stream.cork()
      try {
        for (const { text, values } of this.#task.statements) {
          const statement = this.#task.names.nameOf(text)
          this.#prepared.push(this.#prepare(wire, text, statement))
          wire.bind({ statement, values, valueMapper: toWire })
          wire.execute({})
        }
        wire.sync()
      } finally {
        wire.stream.uncork()
      }
      return null
    }

    #prepare(wire: Wire, text: string, name: string | undefined): Prepared {
      const { onServer } = this.#task.names
      const known = name === undefined ? undefined : onServer.get(name)
      if (known !== undefined) return known
      const prepared: Prepared = { columns: [] }
      if (name !== undefined) {
        if (onServer.has(name)) wire.close({ type: 'S', name })
        this.#prepares.push(name)
        // Also for the statements that follow in this batch.
        onServer.set(name, prepared)
      }
      wire.parse({ text, name })
      wire.describe({ type: 'S', name: name ?? '' })
      return prepared
    }

    handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }) {
      const prepared = this.#prepared[this.#results.length]
      if (prepared !== undefined)
        prepared.columns = fields.map(({ name, dataTypeID }) => ({
          name,
          read: readerOf(dataTypeID),
        }))
    }

    handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
      const { columns } = this.#prepared[this.#results.length] as Prepared
      const row: Record<string, SqlValue> = {}
      for (let index = 0; index < columns.length; index++) {
        const { name, read } = columns[index] as Column
        const text = fields[index] ?? null
        row[name] = text === null ? null : (read(text) as SqlValue)
      }
      this.#rows.push(row)
    }

    handleCommandComplete({ text }: { text: string }): void {
      const words = text.split(' ')
      this.#results.push({
        rows: this.#rows,
        count: Number(words.at(-1)) || 0,
        command: words[0] ?? '',
      })
      this.#rows = []
    }

    handleError(failure: unknown): void {
      if (this.#isDone) return
      this.#isDone = true
      const { statements, names, reject } = this.#task
      // It may have come before or after any of them.
      for (const name of this.#prepares) names.onServer.set(name, undefined)
      // The server commits after the last statement. One that it reports as failed before has
      // undone all. A connection that ends without a report may have ended at any time.
      const isReported = failure instanceof Error && 'severity' in failure
      const mayBeCommitted =
        this.#isSent && (!isReported || this.#results.length >= statements.length)
      reject(new BatchError(failure, mayBeCommitted))
    }

    handleReadyForQuery(): void {
      if (this.#isDone) return
      this.#isDone = true
      this.#task.resolve(this.#results)
    }
  }
}

function toWire(value: SqlValue): string | Buffer | null {
  if (typeof value === 'number') return String(value)
  if (value === null || typeof value === 'string') return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
