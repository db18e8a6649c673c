/** A value that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined }

/** Thrown for a value that has no canonical form: NaN, undefined, a lone surrogate, a function, a bigint. */
export class NotCanonicalError extends TypeError {
  readonly code = 'not_canonical'
}

/**
 * The canonical text of a JSON value (RFC 8785): members sorted by UTF-16 units, numbers and escapes
 * as ECMAScript writes them. What RFC 8785 cannot represent is refused, never dropped, because a
 * dropped member would be a member that nobody signed.
 *
 * @throws {NotCanonicalError} where the value is not JSON
 * @example canonicalJson({ b: 1, a: [null] }) // '{"a":[null],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return canonicalString(value)
    case 'number':
      if (!Number.isFinite(value)) throw new NotCanonicalError(`${value} has no JSON form`)
      return `${value}`
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? canonicalArray(value) : canonicalObject(value)
    default:
      throw new NotCanonicalError(`a ${typeof value} has no JSON form`)
  }
}

const PLAIN = /^[ !#-[\]-~]*$/

function canonicalString(text: string): string {
  // Most texts are plain ASCII without anything to escape; those need no second look.
  if (PLAIN.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new NotCanonicalError('a string holds a lone surrogate')
  return JSON.stringify(text)
}

function canonicalArray(items: readonly unknown[]): string {
  let text = '['
  // By index: a hole reads as undefined, which is refused; map would skip it.
  for (let at = 0; at < items.length; at++) text += at === 0 ? canonicalJson(items[at]) : `,${canonicalJson(items[at])}`
  return `${text}]`
}

function canonicalObject(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new NotCanonicalError('only plain objects have a canonical form')
  }
  const members = value as Record<string, unknown>
  let text = ''
  for (const { name, lead } of membersInOrder(Object.keys(members))) text += lead + canonicalJson(members[name])
  return text === '' ? '{}' : `${text}}`
}

interface Member {
  readonly name: string
  /** What stands before its value. */
  readonly lead: string
}

/** The objects of a list are named alike, so the order of the last one mostly is the order of the next. */
let last: { readonly names: readonly string[]; readonly order: readonly Member[] } = { names: [], order: [] }

function membersInOrder(names: readonly string[]): readonly Member[] {
  if (names.length === last.names.length && names.every((name, at) => name === last.names[at])) return last.order
  const order = names.toSorted().map((name, at) => ({ name, lead: `${at === 0 ? '{' : ','}${canonicalString(name)}:` }))
  last = { names, order }
  return order
}
