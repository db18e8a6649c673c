import type { PendingStore } from './pending-store.ts'
import { COLUMNS, fromStored, type StoredRow, toStored } from './row.ts'

/** The part of a statement of `node:sqlite` or better-sqlite3 that the store uses. */
export interface SqliteStatement {
  run(values: Record<string, string | null>): { readonly changes: number | bigint }
  get(values: Record<string, string | null>): unknown
}

/** A connection of `node:sqlite` (`DatabaseSync`) or better-sqlite3. */
export interface SqliteConnection {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/** The table. `sqlitePendingStore` creates it if it does not exist. */
export const SQLITE_PENDING_TABLE = `create table if not exists bond (
  session_id text primary key, workflow text not null, action text not null, owner text not null,
  completion_secret text not null, context_digest text, subject_ref text,
  created_at text not null, expires_at text not null, used_at text)`

/**
 * A pending store on one SQLite connection. `accept` receives the connection, inside the
 * transaction. One connection has one transaction at a time, so use this connection for nothing
 * that must not be part of it, and read with another one.
 *
 * @example const store = sqlitePendingStore(new DatabaseSync('bank.db'))
 */
export function sqlitePendingStore<Connection extends SqliteConnection>(
  db: Connection,
): PendingStore<Connection> {
  db.exec(SQLITE_PENDING_TABLE)
  const insert = db.prepare(
    `insert into bond (${COLUMNS.join(', ')}) values (${COLUMNS.map((name) => `$${name}`).join(', ')})
     on conflict do nothing`,
  )
  const select = db.prepare('select * from bond where session_id = $session_id')
  const update = db.prepare(
    'update bond set used_at = $used_at where session_id = $session_id and owner = $owner and used_at is null',
  )
  const remove = db.prepare('delete from bond where expires_at < $before')

  // The next transaction waits for the end of this one, and so do reads, which see only what is
  // committed.
  let last: Promise<unknown> = Promise.resolve()
  function inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }

  return {
    put: (row) => inTurn(() => void insert.run({ ...toStored(row) })),
    find: (session_id) =>
      inTurn(() => {
        const row = select.get({ session_id }) as StoredRow | undefined
        return row && fromStored(row)
      }),
    transaction: (work) =>
      inTurn(async () => {
        db.exec('begin immediate')
        try {
          const result = await work(db)
          db.exec('commit')
          return result
        } catch (error) {
          // SQLite ends the transaction itself after some errors, such as a full disk.
          try {
            db.exec('rollback')
          } catch {}
          throw error
        }
      }),
    use: async ({ session_id, owner, used_at }) =>
      Number(update.run({ session_id, owner, used_at }).changes) === 1,
    removeExpired: (before) => inTurn(() => Number(remove.run({ before }).changes)),
  }
}
