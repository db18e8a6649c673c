import { DatabaseSync } from 'node:sqlite'
import { type PendingRow, type PendingStore, Secret } from '../src/index.ts'

/** A pending store on one SQLite connection: what an adapter for a real database looks like. */
export function sqlitePendingStore(db = new DatabaseSync(':memory:')): PendingStore<DatabaseSync> {
  db.exec(`create table if not exists bond (
    session_id text primary key, workflow text not null, action text not null, owner text not null, completion_secret text not null,
    context_digest text, subject_ref text, created_at text not null, expires_at text not null, used_at text)`)
  const insert = db.prepare(`insert into bond values
    ($session_id, $workflow, $action, $owner, $completion_secret, $context_digest, $subject_ref, $created_at, $expires_at, $used_at)
    on conflict do nothing`)
  const select = db.prepare('select * from bond where session_id = $session_id')
  const update = db.prepare(
    'update bond set used_at = $used_at where session_id = $session_id and owner = $owner and used_at is null',
  )
  const remove = db.prepare('delete from bond where expires_at < $before')

  // One connection holds one transaction: the next waits for its end, and so do reads, which see
  // only what is committed.
  let last: Promise<unknown> = Promise.resolve()
  function inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }

  return {
    put: (row) =>
      inTurn(() => void insert.run({ ...row, completion_secret: row.completion_secret.reveal() })),
    find: (session_id) =>
      inTurn(() => {
        const row = select.get({ session_id }) as
          | (Omit<PendingRow, 'completion_secret'> & { completion_secret: string })
          | undefined
        return row && { ...row, completion_secret: new Secret(row.completion_secret) }
      }),
    transaction: (work) =>
      inTurn(async () => {
        db.exec('begin immediate')
        try {
          const result = await work(db)
          db.exec('commit')
          return result
        } catch (error) {
          db.exec('rollback')
          throw error
        }
      }),
    use: async ({ session_id, owner, used_at }) =>
      update.run({ session_id, owner, used_at }).changes === 1,
    removeExpired: (before) => inTurn(() => Number(remove.run({ before }).changes)),
  }
}
