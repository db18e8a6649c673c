import { StoreError } from '@bonded/core/ports/store'
import type { Work } from '@bonded/core/ports/work'
import type { Row, Statement, Together } from '../statement.ts'
import { BatchError, type BatchStatement, type StatementResult } from './server/batch.ts'
import type { Connection } from './server/connections.ts'

/** The SQLSTATE of a division by zero: a statement has not changed exactly one row. */
const NOT_ONCE = '22012'

/** A transaction whose commit may or may not have taken effect. It must not run again. */
export class OutcomeUnknown extends Error {}

/**
 * One transaction of units of work. Statements whose results a unit does not need wait for the next
 * one whose result it needs, or for the commit, and share its message.
 */
export class Transaction {
  readonly #connection: Connection
  readonly #isCareful: boolean
  #waiting: BatchStatement[]

  /**
   * @param options.begin the statements that begin it
   * @param options.isCareful whether a unit waits for statements that usually change one row.
   *   Otherwise it goes on as if they had, and the transaction fails if they did not
   */
  constructor(
    connection: Connection,
    { begin, isCareful }: { begin: readonly BatchStatement[]; isCareful: boolean },
  ) {
    this.#connection = connection
    this.#isCareful = isCareful
    this.#waiting = [...begin]
  }

  /** Runs a unit of work to its end. Its last changes may still wait for the commit. */
  async drive<T>(work: Work<T>): Promise<T> {
    let step = work.next()
    while (step.done !== true) {
      const value = step.value as Statement | Together
      const assumed = 'together' in value ? undefined : this.#defer(value)
      if (assumed !== undefined) {
        step = work.next(assumed)
        continue
      }
      let answer: unknown
      try {
        answer = await this.#ask(value)
      } catch (failure) {
        // After an error the transaction is void, even if the unit catches the error.
        try {
          work.throw(failure)
        } catch {
          // The caller gets the original failure.
        }
        throw failure
      }
      step = work.next(answer)
    }
    return step.value
  }

  /** @throws {OutcomeUnknown} if the server may have committed */
  async commit(): Promise<void> {
    let results: readonly StatementResult[]
    try {
      results = await this.#connection.runBatch([...this.#waiting, { text: 'commit', values: [] }])
    } catch (failure) {
      await this.#connection.abandon()
      if (!(failure instanceof BatchError)) throw failure
      throw failure.mayBeCommitted
        ? new OutcomeUnknown('', { cause: failure.cause })
        : failure.cause
    }
    this.#connection.release()
    if (results.at(-1)?.command !== 'COMMIT')
      throw new StoreError('the store refused to write: the server rolled back')
  }

  /** @returns the result that the unit goes on with; undefined if it must wait for it */
  #defer(statement: Statement): number | undefined {
    if (statement.ahead === true) {
      this.#waiting.push(checked(statement))
      return 0
    }
    if (statement.usuallyOnce !== true || this.#isCareful) return undefined
    this.#waiting.push(exactlyOnce(checked(statement)))
    return 1
  }

  async #ask(asked: Statement | Together): Promise<unknown> {
    const statements = ('together' in asked ? asked.together : [asked]).map(checked)
    const before = this.#waiting
    this.#waiting = []
    let results: readonly StatementResult[]
    try {
      results = await this.#connection.runBatch([...before, ...statements])
    } catch (failure) {
      throw failure instanceof BatchError ? failure.cause : failure
    }
    const answers = results.slice(before.length)
    if ('together' in asked) return answers.map(({ rows }) => rows)
    return resultOf(asked, answers[0] as StatementResult)
  }
}

/** Whether a statement did not change the one row that its unit had relied on. */
export function isNotOnce(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === NOT_ONCE
}

/** What a statement returns to its unit. */
export function resultOf(
  { counts }: Statement,
  { count, rows }: StatementResult,
): readonly Row[] | number {
  return counts === true ? count : rows
}

/** Fails unless the statement changes exactly one row. */
function exactlyOnce({ text, values }: BatchStatement): BatchStatement {
  return { text: `with changed as (${text} returning 1) select 1 / count(*) from changed`, values }
}

/** The driver would send `undefined` as NULL. */
export function checked(statement: Statement): Statement {
  const missing = statement.values.indexOf(undefined as never)
  if (missing >= 0) throw new TypeError(`no value for $${missing + 1}`)
  return statement
}
