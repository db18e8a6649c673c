import { parseInstant } from '@bonded/contract'

/** How many rows a page has. */
export const PAGE_ROWS = 50

/** A member of a query without the space around it; undefined if it is empty. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  return query.get(name)?.trim() || undefined
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
