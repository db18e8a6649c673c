import type { AttemptResult } from './webhooks.ts'

const REDACTED = '[redacted]'
/** Secrets of this service and of webhooks, JSON Web Tokens, and credentials of HTTP. */
const VALUES =
  /\b(?:whsec|whsk|sk|dt|bcs|bwt|wpt)_[\w+/=-]{8,}|\bv1a?,[\w+/=]{8,}|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|\b(?:Bearer|Basic)\s+[\w.~+/=-]+/gi
/** Credentials in an address, such as that of a database. */
const IN_ADDRESSES = /(:\/\/)[^\s/@]{1,256}@/g
/** Random text, such as a key without a name, except public ids of this service. */
const RANDOM = /(?<![\w+/=-])(?!(?:evt|sess|we|dev|ten)_)[\w+/=-]{20,}/g
/** Headers whose value has several parts, up to the end of the line. */
const HEADERS = /\b((?:set-)?cookie|(?:proxy-)?authorization)(\s{0,4}[:=]\s{0,4})[^\s"'][^\r\n]*/gi
/** Members of JSON, forms, and headers whose name is one of a secret. */
const MEMBERS =
  /([\w-]{0,40}(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|(?:private|access)[_-]?key|api[_-]?key|authorization|cookie|signature)[\w-]{0,40}["']?\s{0,4}[:=]\s{0,4})("[^"]*"?|'[^']*'?|[^\s,;&}]+)/gi

/**
 * Returns what the log of deliveries keeps of a response: its status and as many characters as the
 * endpoint asks for, without what looks like a credential. A receiver that fails can repeat the
 * headers of a request, or its own configuration, and no list of patterns is complete.
 *
 * @example withoutCredentials({ status: 500, body: 'token=abc' }, 80) // body: 'token=[redacted]'
 */
export function withoutCredentials(result: AttemptResult, characters: number): AttemptResult {
  if (!('body' in result)) return result
  const body = result.body
    .replaceAll(VALUES, REDACTED)
    .replaceAll(HEADERS, `$1$2${REDACTED}`)
    .replaceAll(MEMBERS, (_whole, name: string) => name + REDACTED)
    .replaceAll(IN_ADDRESSES, `$1${REDACTED}@`)
    .replaceAll(RANDOM, (text) => (/\d/.test(text) && /[a-z]/i.test(text) ? REDACTED : text))
    // A character is never cut in half.
    .replace(new RegExp(`^(.{${characters}}).*$`, 'su'), '$1')
  return { ...result, body }
}
