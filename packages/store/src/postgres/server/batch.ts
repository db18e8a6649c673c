import type { Connection as DriverConnection, Query, Submittable } from 'pg'
import type { SqlValue } from '../../statement.ts'

/** A statement whose result is read by position. */
export interface BatchStatement {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** The rows of each statement of a batch, as the server writes their columns. */
export type BatchRows = readonly (readonly (readonly (string | null)[])[])[]

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

/** The statements that a connection has prepared: their names by text. */
export interface PreparedNames {
  /** Undefined where a pooler cannot keep prepared statements. */
  nameOf(text: string): string | undefined
  /** By name: true if it is prepared; false if a batch failed that was to prepare it. */
  readonly onServer: Map<string, boolean>
}

interface BatchTask {
  readonly statements: readonly BatchStatement[]
  readonly names: PreparedNames
  readonly resolve: (rows: BatchRows) => void
  readonly reject: (failure: BatchError) => void
}

/** The part of the driver's connection that a batch writes to, as `pg-cursor` does. */
interface Wire {
  readonly stream: { readonly writable: boolean; cork(): void; uncork(): void }
  parse(message: { text: string; name: string | undefined }): void
  bind(message: { statement: string | undefined; values: unknown; valueMapper: unknown }): void
  execute(message: object): void
  close(message: { type: 'S'; name: string }): void
  sync(): void
}

/**
 * Makes the class of batches: several statements in one message, with one synchronization at its
 * end. The server runs them in one transaction, which it commits there, and skips what follows a
 * failed statement. One round trip therefore costs what a single statement would.
 *
 * It extends the driver's query, because a pipelining connection rejects other classes.
 */
export function batchClass(Base: typeof Query): new (task: BatchTask) => Submittable {
  return class Batch extends Base {
    readonly #task: BatchTask
    readonly #prepares: string[] = []
    readonly #results: (readonly (string | null)[])[][] = []
    #rows: (readonly (string | null)[])[] = []
    #isSent = false
    #isDone = false

    constructor(task: BatchTask) {
      super('')
      this.#task = task
      this.submit = (connection) => this.#submit(connection as DriverConnection & Wire)
    }

    #submit(wire: Wire): null {
      const { statements, names } = this.#task
      this.#isSent = wire.stream.writable
      wire.stream.cork()
      try {
        for (const { text, values } of statements) {
          const statement = names.nameOf(text)
          this.#prepare(wire, text, statement)
          wire.bind({ statement, values, valueMapper: toWire })
          wire.execute({})
        }
        wire.sync()
      } finally {
        wire.stream.uncork()
      }
      return null
    }

    #prepare(wire: Wire, text: string, name: string | undefined): void {
      const { onServer } = this.#task.names
      const known = name === undefined ? undefined : onServer.get(name)
      if (known === true) return
      if (name !== undefined) {
        if (known === false) wire.close({ type: 'S', name })
        this.#prepares.push(name)
        // Also for the statements that follow in this batch.
        onServer.set(name, true)
      }
      wire.parse({ text, name })
    }

    handleRowDescription(): void {}

    handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
      this.#rows.push(fields)
    }

    handleCommandComplete(): void {
      this.#results.push(this.#rows)
      this.#rows = []
    }

    handleError(failure: unknown): void {
      if (this.#isDone) return
      this.#isDone = true
      const { statements, names, reject } = this.#task
      // The failure may have come before or after any of them.
      for (const name of this.#prepares) names.onServer.set(name, false)
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
