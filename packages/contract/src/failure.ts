import { escapeHidden } from './display-text.ts'

/** What a text of another party may take of a log line, in characters. */
const MAX_TEXT = 200
/** Ten times as much is searched for secrets: a pattern must not run over a page of HTML. */
const MAX_SEARCHED = 2_000
const MAX_LINE = 2_000
const ERROR_CODE = /^[A-Z0-9][A-Z0-9_]*$/
/** An error with its causes: of libraries, `fetch`, the addresses of a host, and the system. */
const MAX_FAILURES = 8

const NAMED = '(?:passw(?:or)?d|pwd|secret|token|api[_-]?key|credential|authorization|assertion)'
const VALUE = '(?:"(?:\\\\.|[^"\\\\])*"?|\'[^\']*\'?|[^\\s"\'&,;]+)'
/** What text may have of secrets, and what stays of it. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-]*PRIVATE KEY-----[^]*/g, '[secret]'],
  // The user and the password of an address, also if the password has a slash or an at sign.
  [/:\/\/(?:[^\s/?#]*|[^\s/?#:@]*:(?!\d+[/?#])[^\s@]*)@/g, '://[secret]@'],
  // Not the words of a challenge or a message, such as `Bearer realm`.
  [
    /\b(bearer|basic|dpop) +(?!realm\b|token\b|auth(?:entication|orization)?\b|auth[-_]|error\b|scheme\b)[^\s,;"']+/gi,
    '$1 [secret]',
  ],
  [new RegExp(`(${NAMED}[\\w-]{0,30}(?:["']\\s*:|\\s*=)\\s*)${VALUE}`, 'gi'), '$1[secret]'],
  [
    new RegExp(`(\\b(?:\\w+_secret|api[_-]?key|passw(?:or)?d): *|\\bcode=)${VALUE}`, 'gi'),
    '$1[secret]',
  ],
  [/(\bcookie: *)[^\n]+/gi, '$1[secret]'],
  // A signed token, and the secrets of this service.
  [/\beyJ[\w-]{8,}(?:\.[\w-]*)*|[\w-]{20,}\.[\w-]{20,}(?:\.[\w-]*)*/g, '[secret]'],
  [/\b(?:sk|dt|bcs|bwt|wpt|whsec|whsk)_[\w+/=-]{8,}/g, '[secret]'],
]

/**
 * A text of another party for one line of a log: without secrets, at most 200 characters, and with
 * its hidden characters escaped.
 *
 * @example outsideText('postgres://app:hunter2@db/bank') // 'postgres://[secret]@db/bank'
 */
export function outsideText(text: string): string {
  // The word at the end could be a part of a secret that no pattern recognizes.
  const searched =
    text.length > MAX_SEARCHED ? text.slice(0, MAX_SEARCHED).replace(/\S*$/, '…') : text
  const safe = SECRETS.reduce((left, [secret, kept]) => left.replace(secret, kept), searched)
  return cut(escapeHidden(cut(safe.trim(), MAX_TEXT)), MAX_LINE)
}

/**
 * One line about a failure that comes from outside: of each error and its causes the message, the
 * code, the description, the status, and what was expected and what came. Never throws, whatever
 * was thrown.
 *
 * @example
 * const refused = new Error('connect ECONNREFUSED 192.0.2.1:443')
 * const failure = new TypeError('fetch failed', { cause: refused })
 * describeFailure(failure) // 'fetch failed: connect ECONNREFUSED 192.0.2.1:443'
 */
export function describeFailure(failure: unknown): string {
  const found: unknown[] = [failure]
  let line = ''
  for (let index = 0; index < Math.min(found.length, MAX_FAILURES); index++) {
    const one = found[index]
    const part = describeOne(one, line)
    if (part !== '') line += line === '' ? part : `: ${part}`
    for (const cause of causesOf(one)) if (!found.includes(cause)) found.push(cause)
  }
  return line === '' ? 'an error without a message' : cut(line, MAX_LINE)
}

function describeOne(failure: unknown, known: string): string {
  if (!isObject(failure)) return newText(failure, known)
  const message = newText(read(failure, 'message'), known)
  const details = ['code', 'error', 'error_description', 'status', 'statusCode', 'url'].flatMap(
    (name) => {
      const value = read(failure, name)
      const text = newText(value, known + message)
      // A code names an error. The one of a `DOMException` is a number, which its message says in
      // words, and the one of a sign-in is a secret.
      const isNamed = name !== 'code' || (typeof value === 'string' && ERROR_CODE.test(value))
      return text === '' || !isNamed ? [] : [`${name} ${text}`]
    },
  )
  const all = [...details, ...comparisonOf(failure)].join(', ')
  // Several failed addresses of one host are an error without a message.
  return message !== '' && all !== '' ? `${message} (${all})` : message || all
}

/** What was expected of a member, and what came. A nonce is a secret of its request. */
function comparisonOf(failure: object): readonly string[] {
  const name = textOfValue(read(failure, 'attribute') ?? read(failure, 'claim'))
  if (name === '' || /nonce|state|hash/.test(name)) return []
  const came = read(read(failure, 'body') ?? read(failure, 'claims'), name)
  const expected = textOfValue(read(failure, 'expected'))
  const wanted = expected === '' ? '' : `expected ${expected}, `
  return [`${name}: ${wanted}came ${textOfValue(came) || 'none'}`]
}

function causesOf(failure: unknown): readonly unknown[] {
  if (!isObject(failure)) return []
  const { cause, errors } = { cause: read(failure, 'cause'), errors: read(failure, 'errors') }
  const several = attempt(() => (Array.isArray(errors) ? [...errors].slice(0, MAX_FAILURES) : []))
  return [...(cause === undefined || cause === null ? [] : [cause]), ...(several ?? [])]
}

/** The text of a value, or an empty one if the line has it already. */
function newText(value: unknown, known: string): string {
  const text = textOfValue(value)
  return known.includes(text) ? '' : text
}

function textOfValue(value: unknown): string {
  if (isObject(value)) {
    const list = attempt(() => (Array.isArray(value) ? [...value].slice(0, MAX_FAILURES) : []))
    return outsideText(
      (list ?? [])
        .filter((one) => !isObject(one))
        .map(String)
        .join(' '),
    )
  }
  return value === undefined || value === null ? '' : outsideText(String(value))
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** A member, or undefined if its getter throws. */
function read(from: unknown, name: string): unknown {
  return attempt(() => (from as Readonly<Record<string, unknown>> | undefined)?.[name])
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

function cut(text: string, max: number): string {
  const all = Array.from(text)
  return all.length <= max ? text : `${all.slice(0, max - 1).join('')}…`
}
