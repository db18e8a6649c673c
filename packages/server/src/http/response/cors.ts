import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import { pathPattern } from '../path-pattern.ts'

/** Browsers repeat the preflight after this long, so a removed origin loses access soon. */
const PREFLIGHT_MAX_AGE_SECONDS = 600

/** The endpoints whose responses a tenant's page may read. */
const OPEN: readonly { readonly pattern: RegExp; readonly endpoint: Endpoint }[] = (
  Object.values(ENDPOINTS) as Endpoint[]
)
  .filter(
    ({ callers, ownOriginOnly }) =>
      callers.includes('browser') || (callers.includes('anonymous') && ownOriginOnly !== true),
  )
  .map((endpoint) => ({ pattern: pathPattern(endpoint.path), endpoint }))

/** Whether a tenant's page may read the responses of this path. */
export function isOpenToPages(path: string): boolean {
  return OPEN.some(({ pattern }) => pattern.test(path))
}

/**
 * Returns the headers of a preflight response: the methods and headers of the endpoints at this
 * path that accept a publishable key. Undefined if there is none: a call without a credential needs
 * no preflight.
 */
export function preflightHeaders(path: string): Record<string, string> | undefined {
  const endpoints = OPEN.filter(
    ({ pattern, endpoint }) => endpoint.callers.includes('browser') && pattern.test(path),
  ).map(({ endpoint }) => endpoint)
  if (endpoints.length === 0) return undefined
  return {
    'access-control-allow-methods': unique(endpoints.map(({ method }) => method)),
    'access-control-allow-headers': unique(endpoints.flatMap(headersOf)),
    'access-control-max-age': String(PREFLIGHT_MAX_AGE_SECONDS),
  }
}

function headersOf({ headers, body }: Endpoint): readonly string[] {
  const { properties = {} } = (headers ?? {}) as { properties?: Record<string, object> }
  return [
    'Authorization',
    ...(body === undefined ? [] : ['Content-Type']),
    ...Object.keys(properties).map(titleCase),
  ]
}

function titleCase(header: string): string {
  return header.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

function unique(words: readonly string[]): string {
  return [...new Set(words)].join(', ')
}
