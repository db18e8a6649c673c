import { requireOptions } from '../required.ts'
import { repeatLostUses, runUse } from './lost-use.ts'
import type { PendingStore } from './pending-store.ts'
import { INSERT, REMOVE, SELECT, USE, valuesOf } from './postgres-statements.ts'
import { fromStored } from './row.ts'

/** The part of a transaction of postgres.js that the store uses. */
export interface PostgresJsTransaction {
  unsafe(
    sql: string,
    values?: (string | null)[],
  ): PromiseLike<readonly Record<string, unknown>[] & { readonly count: number }>
}

/** The part of postgres.js (`postgres(url)`) that the store uses. */
export interface PostgresJsSql extends PostgresJsTransaction {
  begin(work: (tx: PostgresJsTransaction) => Promise<void>): PromiseLike<unknown>
}

/** The driver's own type of a transaction. Only the last signature of `begin` is read. */
type TransactionOf<Sql> = Sql extends {
  begin(options: string, work: (tx: infer Tx extends PostgresJsTransaction) => unknown): unknown
}
  ? Tx
  : PostgresJsTransaction

/**
 * A pending store on PostgreSQL, with postgres.js. `accept` receives the `sql` of the transaction.
 *
 * @example const store = postgresJsPendingStore(postgres('postgres://localhost/bank'))
 */
export function postgresJsPendingStore<Sql extends PostgresJsSql>(
  sql: Sql,
): PendingStore<TransactionOf<Sql>> {
  requireOptions('postgresJsPendingStore', { sql }, { sql: ['begin', 'unsafe'] })
  return {
    async put(row) {
      await sql.unsafe(INSERT, valuesOf(row))
    },
    async find(session_id) {
      const [row] = await sql.unsafe(SELECT, [session_id])
      return row && fromStored(row)
    },
    transaction: <T>(work: (tx: TransactionOf<Sql>) => Promise<T>) =>
      repeatLostUses(async () => {
        // `begin` would wait for the members of a result that is a list, so it returns nothing.
        const results: T[] = []
        await sql.begin(async (tx) => void results.push(await work(tx as TransactionOf<Sql>)))
        return results[0] as T
      }),
    async use({ session_id, owner, used_at }, tx) {
      return (await runUse(tx.unsafe(USE, [session_id, owner, used_at]))).count === 1
    },
    async removeExpired(before) {
      return (await sql.unsafe(REMOVE, [before])).count
    },
  }
}
