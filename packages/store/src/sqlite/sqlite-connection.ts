import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Work } from '@bonded/core/ports/work'
import type { Row, SqlValue, Statement } from '../statement.ts'

interface Prepared {
  readonly statement: StatementSync
  /** The index of the value of each placeholder; undefined if they are in order. */
  readonly order: readonly number[] | undefined
  readonly columns: readonly string[]
}

/** One connection and its prepared statements. It runs units of work to their end. */
export class SqliteConnection {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, Prepared>()

  constructor(file: string, waitForLockMs: number) {
    this.#database = new DatabaseSync(file, { timeout: waitForLockMs })
    // FULL: a commit is on disk before its promise resolves. WAL: readers never wait for it. A
    // checkpoint copies each changed page once. 8,000 pages (32 MB) make checkpoints rare without a
    // slow restart.
    this.#database.exec(
      'pragma journal_mode = wal; pragma synchronous = full; pragma temp_store = memory; pragma cache_size = -32000; pragma wal_autocheckpoint = 8000',
    )
  }

  get isOpen(): boolean {
    return this.#database.isOpen
  }

  /** Rolls back the open transaction. On a full disk SQLite may have done so itself. */
  rollBack(): void {
    try {
      if (this.#database.isTransaction) this.exec('rollback')
    } catch {
      // The callers get the original failure. The next transaction cannot begin and rolls back
      // again.
    }
  }

  exec(text: string): void {
    this.#statement(text).statement.run()
  }

  run({ text, values, counts }: Statement): readonly Row[] | number {
    const { statement, order, columns } = this.#statement(text)
    // node:sqlite would bind NULL, which would hide the defect.
    for (let index = 0; index < values.length; index++)
      if (values[index] === undefined) throw new TypeError(`no value for $${index + 1}`)
    const bound =
      order === undefined ? (values as SqlValue[]) : order.map((index) => values[index] as SqlValue)
    if (counts) return Number(statement.run(...bound).changes)
    if (columns.length === 0) {
      statement.run(...bound)
      return []
    }
    return inArrays(statement.all(...bound)).map((found) => rowOf(columns, found))
  }

  /** Runs a unit of work to its end, synchronously. */
  drive<T>(work: Work<T>): T {
    let step = work.next()
    while (step.done !== true) {
      let response: readonly Row[] | number
      try {
        response = this.run(step.value as Statement)
      } catch (failure) {
        step = work.throw(failure)
        continue
      }
      step = work.next(response)
    }
    return step.value
  }

  /** Changes when another connection has committed, not when this one has. */
  externalVersion(): number {
    const [row] = inArrays([this.#statement('pragma data_version').statement.get()])
    return Number(row?.[0] ?? Number.NaN)
  }

  /**
   * Drops the statements: after a change of the schema, SQLite returns other columns than cached.
   */
  dropStatements(): void {
    this.#prepared.clear()
  }

  close(): void {
    this.#prepared.clear()
    this.#database.close()
  }

  /** node:sqlite binds by position for a plain `?` only, so the order of `$2 … $1` is stored. */
  #statement(text: string): Prepared {
    let prepared = this.#prepared.get(text)
    if (prepared === undefined) {
      const order: number[] = []
      const marked = text.replaceAll(/\$(\d+)/g, (_, number: string) => {
        order.push(Number(number) - 1)
        return '?'
      })
      const statement = this.#database.prepare(marked)
      // Arrays, because for objects node:sqlite creates the column names again for every row.
      statement.setReturnArrays(true)
      const inOrder = order.every((value, index) => value === index)
      prepared = {
        statement,
        order: inOrder ? undefined : order,
        columns: statement.columns().map(({ name }) => name),
      }
      this.#prepared.set(text, prepared)
    }
    return prepared
  }
}

function rowOf(columns: readonly string[], values: readonly SqlValue[]): Row {
  const row: Record<string, SqlValue> = {}
  for (let index = 0; index < columns.length; index++)
    row[columns[index] ?? ''] = values[index] ?? null
  return row
}

/** The types of node:sqlite describe rows as objects, whatever `setReturnArrays` has set. */
function inArrays(rows: unknown): readonly SqlValue[][] {
  return rows as SqlValue[][]
}
