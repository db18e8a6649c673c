import { type PendingRow, type PendingStore, Secret } from '../src/index.ts'

/** The part of a client of `pg` that the store uses. It is also the transaction of your action. */
export interface PostgresClient {
  query(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
  release(): void
}

/** The part of a `Pool` of `pg` that the store uses. */
export interface PostgresPool extends Pick<PostgresClient, 'query'> {
  connect(): Promise<PostgresClient>
}

/** Run it once, with your own migrations. Let only the backend's role read the secrets. */
export const PENDING_TABLE = `create table if not exists bond (
  session_id text primary key, workflow text not null, action text not null, owner text not null,
  completion_secret text not null, context_digest text, subject_ref text,
  created_at timestamptz not null, expires_at timestamptz not null, used_at timestamptz)`

const COLUMNS =
  'session_id, workflow, action, owner, completion_secret, context_digest, subject_ref, created_at, expires_at, used_at'

/** A pending store on PostgreSQL, with a pool of `pg`: `postgresPendingStore(new Pool())`. */
export function postgresPendingStore(pool: PostgresPool): PendingStore<PostgresClient> {
  return {
    async put(row) {
      const secret = row.completion_secret.reveal()
      const values = { ...row, completion_secret: secret }
      await pool.query(
        `insert into bond (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
        COLUMNS.split(', ').map((name) => values[name as keyof PendingRow]),
      )
    },
    async find(session_id) {
      const { rows } = await pool.query(`select ${COLUMNS} from bond where session_id = $1`, [
        session_id,
      ])
      return rows[0] && rowOf(rows[0])
    },
    async transaction(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const result = await work(client)
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    // One guarded statement: a concurrent use waits for the row's lock, and then changes nothing.
    async use({ session_id, owner, used_at }, tx) {
      const { rowCount } = await tx.query(
        'update bond set used_at = $3 where session_id = $1 and owner = $2 and used_at is null',
        [session_id, owner, used_at],
      )
      return rowCount === 1
    },
    async removeExpired(before) {
      const { rowCount } = await pool.query('delete from bond where expires_at < $1', [before])
      return rowCount ?? 0
    },
  }
}

/** `pg` returns a timestamptz as a Date. */
function rowOf(row: Record<string, unknown>): PendingRow {
  const { completion_secret, created_at, expires_at, used_at, ...texts } = row
  return {
    ...(texts as Pick<PendingRow, 'session_id' | 'workflow' | 'action' | 'owner'> &
      Pick<PendingRow, 'context_digest' | 'subject_ref'>),
    completion_secret: new Secret(String(completion_secret)),
    created_at: (created_at as Date).toISOString(),
    expires_at: (expires_at as Date).toISOString(),
    used_at: (used_at as Date | null)?.toISOString() ?? null,
  }
}
