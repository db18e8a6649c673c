/**
 * The schema of a response, frame, or event as a client must read it. The service sends no other
 * members, but a later version may (protocol 1), and a generated client that rejected them would
 * break.
 */
export function opened<T>(schema: T): T {
  return reopened(schema) as T
}

function reopened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(reopened)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !(keyword === 'additionalProperties' && value === false))
      .map(([keyword, value]) => [keyword, reopened(value)]),
  )
}
