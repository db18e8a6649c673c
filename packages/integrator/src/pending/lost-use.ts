/** How often a transaction begins. After the first loss, the row is used in nearly every case. */
const MAX_RUNS = 5
/** SQLSTATE of a statement that lost against another transaction. */
const SERIALIZATION_FAILURE = '40001'

/** A use that lost against another transaction, where your database isolates them more strictly. */
class LostUse extends Error {}

/** Runs the statement of a use, and marks its loss for {@link repeatLostUses}. */
export async function runUse<Result>(statement: PromiseLike<Result>): Promise<Result> {
  try {
    return await statement
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === SERIALIZATION_FAILURE)
      throw new LostUse('another transaction changed the row', { cause: error })
    throw error
  }
}

/**
 * Runs a transaction, and anew after a lost use. `read committed` waits for the other transaction
 * and sees its result; `repeatable read` and `serializable` fail instead. The use comes before the
 * action, so nothing of the action has run.
 */
export async function repeatLostUses<T>(transaction: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs++) {
    try {
      return await transaction()
    } catch (error) {
      if (!(error instanceof LostUse)) throw error
      if (runs === MAX_RUNS) throw error.cause
    }
  }
}
