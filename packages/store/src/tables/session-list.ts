import type { SessionState } from '@bonded/contract'
import { MOVES } from '@bonded/core/protocol/states'
import type { SessionQuery } from '@bonded/core/ports/tables/session-table'
import type { SqlValue, Statement } from '../statement.ts'
import { firstKeyAt } from './session-keys.ts'

/**
 * A filter reads this many sessions at most: their order is that of the key, and an index for each
 * filter would cost every change of a session.
 */
export const MAX_FILTERED = 25_000

/** Whether a query can read more sessions than it returns. */
export function isFiltered({ tenantId, state, endedReason, subjectRef }: SessionQuery): boolean {
  return [tenantId, state, endedReason, subjectRef].some((filter) => filter !== undefined)
}

/** The keys of the sessions of a time, at least `from` and below `below`. */
function keysOf({ since = 0, until }: SessionQuery, below: number) {
  const end = until === undefined ? below : Math.min(below, firstKeyAt(until + 1))
  return { from: firstKeyAt(since), below: end }
}

/**
 * The statement that lists sessions, newest first, in the order of their keys.
 *
 * @param below the key of the last session of the page before
 */
export function listStatement(query: SessionQuery, below: number): Statement {
  const { tenantId, state, endedReason, subjectRef, limit } = query
  const keys = keysOf(query, below)
  const values: SqlValue[] = []
  const value = (given: SqlValue): string => `$${values.push(given)}`
  const newest = `select * from session
    where session_key >= ${value(keys.from)} and session_key < ${value(keys.below)}
    order by session_key desc`
  if (!isFiltered(query)) return { text: `${newest} limit ${value(limit)}`, values }
  const conditions: string[] = []
  if (tenantId !== undefined) conditions.push(`tenant_id = ${value(tenantId)}`)
  if (state !== undefined) conditions.push(inState(state, value))
  if (endedReason !== undefined) conditions.push(`ended_reason = ${value(endedReason)}`)
  if (subjectRef !== undefined) {
    const reference = value(subjectRef)
    conditions.push(`(subject_ref = ${reference} or wanted_subject_ref = ${reference})`)
  }
  const text = `select * from (${newest} limit ${MAX_FILTERED}) part
    where ${conditions.join(' and ')} order by session_key desc limit ${value(limit)}`
  return { text, values }
}

/** The statement that finds the last session that a filter has read. */
export function lastReadStatement(query: SessionQuery, below: number): Statement {
  const text = `select id from session where session_key >= $1 and session_key < $2
    order by session_key desc limit 1 offset ${MAX_FILTERED - 1}`
  const keys = keysOf(query, below)
  return { text, values: [keys.from, keys.below] }
}

/** A session can have expired before that state is stored, so the time is compared as well. */
function inState(
  { is, at }: NonNullable<SessionQuery['state']>,
  value: (given: SqlValue) => string,
): string {
  const canExpire: readonly SessionState[] = MOVES.expire.from
  const stored = `state = ${value(is)}`
  if (canExpire.includes(is)) return `(${stored} and expires_at > ${value(at)})`
  if (is !== MOVES.expire.to) return stored
  const live = canExpire.map((state) => value(state)).join(', ')
  return `(${stored} or (state in (${live}) and expires_at <= ${value(at)}))`
}
