import type { SessionState } from '@bonded/contract'
import { MOVES } from '@bonded/core/domain/transitions'
import type { SessionQuery } from '@bonded/core/ports/tables/session-table'
import type { SqlValue, Statement } from '../statement.ts'

/** The statement that lists sessions, newest first. */
export function listStatement({ tenantId, state, before, limit }: SessionQuery): Statement {
  const values: SqlValue[] = []
  const value = (given: SqlValue): string => `$${values.push(given)}`
  const conditions: string[] = []
  if (tenantId !== undefined) conditions.push(`tenant_id = ${value(tenantId)}`)
  if (state !== undefined) conditions.push(inState(state, value))
  if (before !== undefined) {
    const at = value(before.createdAt)
    // Sessions of one millisecond are ordered by id, so that no page repeats or skips one.
    conditions.push(`(created_at < ${at} or (created_at = ${at} and id < ${value(before.id)}))`)
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const text = `select * from session ${where} order by created_at desc, id desc limit ${value(limit)}`
  return { text, values }
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
