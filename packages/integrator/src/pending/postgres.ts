import { GateError } from '../errors.ts'
import { requireOptions } from '../required.ts'
import { repeatLostUses, runUse } from './lost-use.ts'
import type { PendingStore } from './pending-store.ts'
import { fromStored } from './row.ts'
import { INSERT, REMOVE, SELECT, USE, valuesOf } from './postgres-statements.ts'

interface QueryResult {
  /** The command tag: what PostgreSQL did, which for `commit` can be `ROLLBACK`. */
  readonly command: string
  readonly rows: readonly Record<string, unknown>[]
  readonly rowCount: number | null
}

/** The part of a client of `pg` that the store uses. It is also the transaction of your action. */
export interface PgClient {
  query(sql: string, values?: unknown[]): Promise<QueryResult>
  release(error?: boolean): void
}

/** The part of a `Pool` of `pg` that the store uses. */
export interface PgPool<Client extends PgClient = PgClient> {
  query(sql: string, values?: unknown[]): Promise<QueryResult>
  connect(): Promise<Client>
}

export { POSTGRES_PENDING_TABLE } from './postgres-statements.ts'
export { postgresJsPendingStore, type PostgresJsSql } from './postgres-js.ts'

/**
 * A pending store on PostgreSQL, with a pool of `pg`. `accept` receives the client of the
 * transaction.
 *
 * @example const store = postgresPendingStore(new Pool())
 */
export function postgresPendingStore<Client extends PgClient>(
  pool: PgPool<Client>,
): PendingStore<Client> {
  requireOptions('postgresPendingStore', { pool }, { pool: ['query', 'connect'] })
  return {
    async put(row) {
      await pool.query(INSERT, valuesOf(row))
    },
    async find(session_id) {
      const { rows } = await pool.query(SELECT, [session_id])
      return rows[0] && fromStored(rows[0])
    },
    transaction: (work) =>
      repeatLostUses(async () => {
        const client = await pool.connect()
        let broken = false
        try {
          await client.query('begin')
          const result = await work(client)
          // After an error that the action swallowed, `commit` rolls back without an error.
          if ((await client.query('commit')).command !== 'COMMIT') throw notCommitted()
          return result
        } catch (error) {
          // A connection whose rollback fails must not return to the pool with an open transaction.
          await client.query('rollback').catch(() => (broken = true))
          throw error
        } finally {
          client.release(broken)
        }
      }),
    async use({ session_id, owner, used_at }, tx) {
      const { rowCount } = await runUse(tx.query(USE, [session_id, owner, used_at]))
      return rowCount === 1
    },
    async removeExpired(before) {
      return (await pool.query(REMOVE, [before])).rowCount ?? 0
    },
  }
}

function notCommitted(): GateError {
  return new GateError(
    'action_not_committed',
    'PostgreSQL rolled the transaction back at its commit: a statement of the action failed, and the action did not pass the error on.',
  )
}
