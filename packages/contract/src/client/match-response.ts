import type { TSchema } from '../schemas/type.ts'
import { type Members, ownMembers } from './own-members.ts'

/**
 * The name of the first member of a response that does not match the endpoint's schema; undefined
 * for a response that a client can use, and `not_an_object` for a value without members.
 *
 * Within `/api/v1` responses may gain members and lists may gain words, so unknown members, words
 * and upper limits are not checked. A client checks `state`, the one closed list, itself.
 *
 * @example firstMismatch(ENDPOINTS.claimSession.responses.phone, { id: 7 }) // 'id'
 */
export function firstMismatch(schema: TSchema, response: unknown): string | undefined {
  const members = ownMembers(response)
  if (members === undefined) return 'not_an_object'
  return mismatchIn(schema as unknown as Members, members)
}

function mismatchIn(schema: Members, members: Members): string | undefined {
  const properties = (schema['properties'] ?? {}) as Record<string, Members>
  const required = (schema['required'] ?? []) as readonly string[]
  for (const [name, property] of Object.entries(properties)) {
    const value = members[name]
    if (value === undefined ? required.includes(name) : !matches(property, value)) return name
  }
  return undefined
}

/** Whether a value has the type of a schema, and the members, items and form that it requires. */
function matches(schema: Members, value: unknown): boolean {
  const types = ([] as unknown[]).concat(schema['type'] ?? typeOf(value))
  const type = typeOf(value)
  if (!types.includes(type) && !(type === 'integer' && types.includes('number'))) return false
  if (type === 'string') return matchesText(schema, value as string)
  if (type === 'integer' || type === 'number')
    return (value as number) >= ((schema['minimum'] as number | undefined) ?? -Infinity)
  if (type === 'array') {
    const items = (schema['items'] ?? {}) as Members
    return (value as unknown[]).every((item) => matches(items, item))
  }
  return type !== 'object' || mismatchIn(schema, ownMembers(value) as Members) === undefined
}

function matchesText(schema: Members, text: string): boolean {
  const pattern = schema['pattern'] as string | undefined
  return pattern === undefined || new RegExp(pattern, 'u').test(text)
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
