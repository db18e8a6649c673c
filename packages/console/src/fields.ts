import { parseId, parseInstant, PATH_TEXTS } from '@bonded/contract'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'

/** How many rows a page has. */
export const PAGE_ROWS = 50

/**
 * A member of a query without the space around it; undefined if it is empty, or has a NUL, which
 * PostgreSQL takes in no text.
 */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name)?.trim()
  return text?.includes('\0') ? undefined : text || undefined
}

/** A number of a row, such as 51; undefined if it is none. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const number = Number(textIn(query, name))
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}

/** A time of a field, which browsers send in minutes and without a zone. It is in UTC. */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = textIn(query, name) ?? ''
  return parseInstant(text) ?? parseInstant(`${text}Z`) ?? parseInstant(`${text}:00Z`)
}

/** The same query with another member, for a link. */
export function withMember(query: URLSearchParams, name: string, value: string): string {
  const changed = new URLSearchParams(query)
  changed.set(name, value)
  return `?${changed.toString()}`
}

/** The query that names a user as a tenant knows them. */
export function queryOf(tenant: string, subject_ref: string): string {
  return `?${new URLSearchParams({ tenant, subject_ref }).toString()}`
}

/** A user as a tenant knows them, whom a query names. */
export function userIn(query: URLSearchParams) {
  const tenantId = parseId('ten', textIn(query, 'tenant') ?? '')
  const subjectRef = textIn(query, 'subject_ref') ?? ''
  return tenantId && PATH_TEXTS.subject_ref.test(subjectRef) ? { tenantId, subjectRef } : undefined
}

/** The member of a list that a path names. */
export function foundIn<T>(list: readonly T[], is: (each: T) => boolean, what: string): T {
  const found = list.find(is)
  if (found !== undefined) return found
  throw new OperatorError(`There is no such ${what} here`, { code: 'not_found' })
}
