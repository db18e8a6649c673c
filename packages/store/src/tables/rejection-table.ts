import type {
  RejectionQuery,
  RejectionTable,
  StoredRejection,
} from '@bonded/core/ports/tables/rejection-table'
import { row, rows } from '../statement.ts'
import { columnNames } from '../personal-data.ts'
import { recordReader } from './record.ts'

const rejectionFromRow = recordReader<StoredRejection>(columnNames('rejection'))

/** How much of the table a page reads at most. A tenant's filter must not occupy the database. */
const MAX_FILTERED = 1_000

/** The reasons of rejections. The table of sessions adds them, with their timelines. */
export const rejectionTable: RejectionTable = {
  *list(query) {
    const { requestId = '', sessionId = '', subjectRef = '', reason = '', limit } = query
    const { where, values } = rangeOf(query)
    const newest = `select * from rejection where ${where} order by at desc, request_id desc`
    const first = values.length + 1
    const filters = ['request_id', 'session_id', 'subject_ref', 'reason'].map(
      (column, index) => `$${first + index} in ('', coalesce(${column}, ''))`,
    )
    const found = yield* rows(
      `select * from (${newest} limit ${MAX_FILTERED}) part where ${filters.join(' and ')}
       order by at desc, request_id desc limit $${first + filters.length}`,
      [...values, requestId, sessionId, subjectRef, reason, limit],
    )
    const rejections = found.map(rejectionFromRow)
    if (rejections.length === limit) return { rejections, next: rejections.at(-1) ?? null }
    const last = yield* row(`${newest} limit 1 offset ${MAX_FILTERED - 1}`, values)
    return { rejections, next: last === undefined ? null : rejectionFromRow(last) }
  },
}

/** The condition that an index answers: the narrowest one that the query names. */
function rangeOf(query: RejectionQuery) {
  const { tenantId, requestId, sessionId, subjectRef, since, until, before } = query
  const values: (string | number)[] = []
  const conditions: string[] = []
  const add = (condition: string, value: string | number | undefined) => {
    if (value === undefined) return
    values.push(value)
    conditions.push(condition.replace('?', `$${values.length}`))
  }
  add('tenant_id = ?', tenantId)
  if (requestId !== undefined) add('request_id = ?', requestId)
  else if (sessionId !== undefined) add('session_id = ?', sessionId)
  else add('subject_ref = ?', subjectRef)
  add('at >= ?', since)
  add('at <= ?', until)
  if (before !== undefined) {
    const from = values.push(before.at, before.requestId) - 1
    conditions.push(`(at, request_id) < ($${from}, $${from + 1})`)
  }
  return { where: conditions.join(' and ') || '1 = 1', values }
}
