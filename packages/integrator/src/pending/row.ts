import { Secret } from '@bonded/contract'
import type { PendingRow } from './pending-store.ts'

/** The columns of the table, in the order of a row. */
export const COLUMNS = [
  'session_id',
  'workflow',
  'action',
  'owner',
  'completion_secret',
  'context_digest',
  'subject_ref',
  'created_at',
  'expires_at',
  'used_at',
] as const satisfies readonly (keyof PendingRow)[]

/** A row as a database stores it: texts and null, the secret revealed. */
export type StoredRow = Readonly<Record<(typeof COLUMNS)[number], string | null>>

export function toStored(row: PendingRow): StoredRow {
  return { ...row, completion_secret: row.completion_secret.reveal() }
}

/** The row of a database. A time of PostgreSQL is in milliseconds, and others are texts. */
export function fromStored(row: Readonly<Record<string, unknown>>): PendingRow {
  const text = (name: keyof PendingRow) => String(row[name])
  const orNull = (name: keyof PendingRow) => (row[name] === null ? null : text(name))
  const time = (name: keyof PendingRow) => {
    const stored = text(name)
    return new Date(/^-?\d+$/.test(stored) ? Number(stored) : stored).toISOString()
  }
  return {
    session_id: text('session_id'),
    workflow: text('workflow'),
    action: text('action'),
    owner: text('owner'),
    completion_secret: new Secret(text('completion_secret')),
    context_digest: orNull('context_digest'),
    subject_ref: orNull('subject_ref'),
    created_at: time('created_at'),
    expires_at: time('expires_at'),
    used_at: row['used_at'] === null ? null : time('used_at'),
  }
}
