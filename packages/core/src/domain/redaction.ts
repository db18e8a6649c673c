import type { AttemptResult } from './webhooks.ts'

const REDACTED = '[redacted]'
/** Secrets of this service and of webhooks, JSON Web Tokens, and credentials of HTTP. */
const VALUES =
  /\b(?:whsec|whsk|sk|dt|bcs|bwt|wpt)_[\w+/=-]{8,}|\bv1a?,[\w+/=]{8,}|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|\b(?:Bearer|Basic)\s+[\w.~+/=-]+/gi
/** Headers whose value has several parts, up to the end of the line. */
const HEADERS = /\b((?:set-)?cookie|(?:proxy-)?authorization)(\s{0,4}[:=]\s{0,4})[^\s"'][^\r\n]*/gi
/** Members of JSON, forms, and headers whose name is one of a secret. */
const MEMBERS =
  /([\w-]{0,40}(?:passw(?:or)?d|secret|token|api[_-]?key|authorization|cookie|signature)[\w-]{0,40}["']?\s{0,4}[:=]\s{0,4})("[^"]*"?|'[^']*'?|[^\s,;&}]+)/gi

/**
 * Removes credentials from the response that a log keeps. A receiver that fails can repeat the
 * headers of a request, or its own configuration.
 *
 * @example withoutCredentials({ status: 500, body: 'token=abc' }) // body: 'token=[redacted]'
 */
export function withoutCredentials(result: AttemptResult): AttemptResult {
  if (!('body' in result)) return result
  const body = result.body
    .replaceAll(VALUES, REDACTED)
    .replaceAll(HEADERS, `$1$2${REDACTED}`)
    .replaceAll(MEMBERS, (_whole, name: string) => name + REDACTED)
  return { ...result, body }
}
