import type { PendingStore } from './pending-store.ts'
import { COLUMNS, fromStored, toStored } from './row.ts'

interface QueryResult {
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

/** Run it once, with your own migrations. Let only the backend's role read the secrets. */
export const POSTGRES_PENDING_TABLE = `create table if not exists bond (
  session_id text primary key, workflow text not null, action text not null, owner text not null,
  completion_secret text not null, context_digest text, subject_ref text,
  created_at timestamptz not null, expires_at timestamptz not null, used_at timestamptz)`

const INSERT = `insert into bond (${COLUMNS.join(', ')})
  values (${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')}) on conflict do nothing`
const SELECT = `select ${COLUMNS.join(', ')} from bond where session_id = $1`
// One guarded statement: a concurrent use waits for the row's lock, and then changes nothing.
const USE = 'update bond set used_at = $3 where session_id = $1 and owner = $2 and used_at is null'
const REMOVE = 'delete from bond where expires_at < $1'

/**
 * A pending store on PostgreSQL, with a pool of `pg`. `accept` receives the client of the
 * transaction.
 *
 * @example const store = postgresPendingStore(new Pool())
 */
export function postgresPendingStore<Client extends PgClient>(
  pool: PgPool<Client>,
): PendingStore<Client> {
  return {
    async put(row) {
      const stored = toStored(row)
      await pool.query(
        INSERT,
        COLUMNS.map((name) => stored[name]),
      )
    },
    async find(session_id) {
      const { rows } = await pool.query(SELECT, [session_id])
      return rows[0] && fromStored(rows[0])
    },
    async transaction(work) {
      const client = await pool.connect()
      let broken = false
      try {
        await client.query('begin')
        const result = await work(client)
        await client.query('commit')
        return result
      } catch (error) {
        // A connection whose rollback fails must not return to the pool with an open transaction.
        await client.query('rollback').catch(() => (broken = true))
        throw error
      } finally {
        client.release(broken)
      }
    },
    async use({ session_id, owner, used_at }, tx) {
      return (await tx.query(USE, [session_id, owner, used_at])).rowCount === 1
    },
    async removeExpired(before) {
      return (await pool.query(REMOVE, [before])).rowCount ?? 0
    },
  }
}
