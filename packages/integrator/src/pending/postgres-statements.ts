import type { PendingRow } from './pending-store.ts'
import { COLUMNS, toStored } from './row.ts'

/** Run it once, with your own migrations. Let only the backend's role read the secrets. */
export const POSTGRES_PENDING_TABLE = `create table if not exists bond (
  session_id text primary key, workflow text not null, action text not null, owner text not null,
  completion_secret text not null, context_digest text, subject_ref text,
  created_at timestamptz not null, expires_at timestamptz not null, used_at timestamptz)`

export const INSERT = `insert into bond (${COLUMNS.join(', ')})
  values (${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')}) on conflict do nothing`
/** Times as milliseconds: the text of a `timestamptz` depends on the session's DateStyle. */
const READ = COLUMNS.map((name) =>
  name.endsWith('_at') ? `(extract(epoch from ${name}) * 1000)::bigint::text as ${name}` : name,
)
export const SELECT = `select ${READ.join(', ')} from bond where session_id = $1`
// One guarded statement: a concurrent use waits for the row's lock, and then changes nothing.
export const USE =
  'update bond set used_at = $3 where session_id = $1 and owner = $2 and used_at is null'
export const REMOVE = 'delete from bond where expires_at < $1'

/** The values of `INSERT`. */
export function valuesOf(row: PendingRow): (string | null)[] {
  const stored = toStored(row)
  return COLUMNS.map((name) => stored[name])
}
