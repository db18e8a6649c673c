import type { Route } from './route.ts'

/** The names between braces in a path. */
type ParameterName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterName<Rest>
  : never

/** The parameters of a route: a text for each `{name}` of its path. */
export type PathParameters<R extends Route> = {
  readonly [Name in ParameterName<R['path']>]: string
}

/** Query members. Undefined ones are omitted. */
export type Query = Readonly<Record<string, string | number | undefined>>

/**
 * The path and query of a request, relative to the origin. Each value is percent-encoded, so that
 * it cannot add a segment or a member.
 *
 * @example requestPath(GET_SESSION, { session_id }, { nonce }) // '/api/v1/sessions/sess_…?nonce=…'
 */
export function requestPath<R extends Route>(
  { path }: R,
  parameters: PathParameters<R>,
  query: Query = {},
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_braced, name: string) =>
    encodeURIComponent((parameters as Record<string, string>)[name] ?? ''),
  )
  const members = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return members.length === 0 ? filled : `${filled}?${members.join('&')}`
}
