import type { Tables, Unit } from '@bonded/core/ports/store'
import type { Work } from '@bonded/core/ports/work'
import type { Statement, Together } from '../statement.ts'
import { BatchQueue } from './batch-queue.ts'
import type { BatchStatement, StatementResult } from './server/batch.ts'
import { checked, resultOf } from './transaction.ts'

/** How many reads may be under way. Those that come meanwhile share the next one. */
const MAX_READS = 2

interface PendingRead {
  readonly unit: Unit<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (failure: unknown) => void
}

interface BegunRead extends PendingRead {
  readonly work: Work<unknown>
  readonly statement: Statement
}

interface SharedReadParts {
  readonly tables: Tables
  /** Runs statements in one message. */
  readonly run: (statements: readonly BatchStatement[]) => Promise<readonly StatementResult[]>
  /** Runs a unit of several statements in a snapshot of its own. */
  readonly inSnapshot: (unit: Unit<unknown>) => Promise<unknown>
}

/**
 * Reads for all calls of a turn of the event loop, and for those that come while reads are under
 * way, in one message. A read begins after its call, so it is never older than what any node had
 * acknowledged by then. A unit that needs more than one statement runs alone.
 */
export class SharedReads {
  readonly #parts: SharedReadParts
  readonly #queue = new BatchQueue<PendingRead>({
    run: () => this.#readAll(),
    maxRunning: MAX_READS,
  })

  constructor(parts: SharedReadParts) {
    this.#parts = parts
  }

  /** How many calls wait for a read that has not begun. */
  get waiting(): number {
    return this.#queue.waiting
  }

  read<T>(unit: Unit<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queue.add({ unit, resolve: resolve as (value: unknown) => void, reject })
    return promise
  }

  async #readAll(): Promise<void> {
    const begun = this.#queue.take().flatMap((pending) => this.#begin(pending) ?? [])
    if (begun.length === 0) return
    // Calls with one credential ask for the same rows.
    const texts = begun.map(({ statement: { text, values } }) => JSON.stringify([text, values]))
    const distinct = [...new Map(begun.map((read, index) => [texts[index] ?? '', read.statement]))]
    const places = new Map(distinct.map(([text], place) => [text, place]))
    let results: readonly StatementResult[]
    try {
      results = await this.#parts.run(distinct.map(([, statement]) => statement))
    } catch {
      // Alone, a unit that fails is separated from the others, and runs on a new connection.
      for (const read of begun) this.#alone(read)
      return
    }
    for (const [index, read] of begun.entries())
      this.#end(read, results[places.get(texts[index] ?? '') ?? -1] as StatementResult)
  }

  #begin(pending: PendingRead): BegunRead | undefined {
    try {
      const work = pending.unit(this.#parts.tables)
      const step = work.next()
      if (step.done === true) pending.resolve(step.value)
      else if ('together' in (step.value as Statement | Together)) this.#alone(pending)
      else return { ...pending, work, statement: checked(step.value as Statement) }
    } catch (failure) {
      pending.reject(failure)
    }
    return undefined
  }

  #end(read: BegunRead, result: StatementResult): void {
    try {
      const step = read.work.next(resultOf(read.statement, result))
      if (step.done === true) read.resolve(step.value)
      else this.#alone(read)
    } catch (failure) {
      read.reject(failure)
    }
  }

  #alone({ unit, resolve, reject }: PendingRead): void {
    this.#parts.inSnapshot(unit).then(resolve, reject)
  }
}
