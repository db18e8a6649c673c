import { isWellFormed } from './well-formed.ts'

/** A value that JSON can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined }

/**
 * Thrown for a value that has no canonical form: NaN, undefined, a lone surrogate, a function, a
 * bigint, an object with a `toJSON` function.
 */
export class NotCanonicalError extends TypeError {
  readonly code = 'not_canonical'
}

/**
 * The canonical text of a JSON value (RFC 8785): members sorted by UTF-16 units, numbers and
 * escapes as ECMAScript writes them. Throws for a value that RFC 8785 cannot represent, because a
 * silently dropped member would be missing from the signature.
 *
 * @throws {NotCanonicalError} if the value is not JSON
 * @example canonicalJson({ b: 1, a: [null] }) // '{"a":[null],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  // Most requests are in order already. JSON.stringify then writes the same text many times faster.
  return isInOrder(value) ? JSON.stringify(value) : written(value)
}

/** Whether JSON.stringify writes this value in the form of RFC 8785: every member is in order. */
function isInOrder(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return isWellFormed(value)
    case 'number':
      return Number.isFinite(value)
    case 'boolean':
      return true
    case 'object':
      if (value === null) return true
      if (hasToJson(value)) return false
      return Array.isArray(value) ? isListInOrder(value) : areMembersInOrder(value)
    default:
      return false
  }
}

function isListInOrder(items: readonly unknown[]): boolean {
  for (let index = 0; index < items.length; index++) if (!isInOrder(items[index])) return false
  return true
}

function areMembersInOrder(value: object): boolean {
  if (!isPlain(value)) return false
  let before: string | undefined
  // `for in` allocates nothing for the objects of a long list. A plain object inherits no members.
  for (const name in value) {
    if (before !== undefined && name < before) return false
    if (!isInOrder(name) || !isInOrder((value as Record<string, unknown>)[name])) return false
    before = name
  }
  return true
}

/**
 * Whether JSON.stringify would write what a function returns in place of this object. The function
 * may be inherited, and not enumerable.
 */
function hasToJson(value: object): boolean {
  return typeof (value as { readonly toJSON?: unknown }).toJSON === 'function'
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function written(value: unknown): string {
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
      if (hasToJson(value))
        throw new NotCanonicalError('an object with a toJSON function has no canonical form')
      return Array.isArray(value) ? canonicalArray(value) : canonicalObject(value)
    default:
      throw new NotCanonicalError(`a ${typeof value} has no JSON form`)
  }
}

const PLAIN = /^[ !#-[\]-~]*$/

function canonicalString(text: string): string {
  // Most texts are plain ASCII without anything to escape; those need no second check.
  if (PLAIN.test(text)) return `"${text}"`
  if (!isWellFormed(text)) throw new NotCanonicalError('a string holds a lone surrogate')
  return JSON.stringify(text)
}

function canonicalArray(items: readonly unknown[]): string {
  let text = '['
  // By index: a hole reads as undefined, which is rejected. `map` would skip it.
  for (let index = 0; index < items.length; index++)
    text += index === 0 ? written(items[index]) : `,${written(items[index])}`
  return `${text}]`
}

function canonicalObject(value: object): string {
  if (!isPlain(value)) throw new NotCanonicalError('only plain objects have a canonical form')
  const members = value as Record<string, unknown>
  let text = ''
  for (const { name, lead } of membersInOrder(Object.keys(members)))
    text += lead + written(members[name])
  return text === '' ? '{}' : `${text}}`
}

interface Member {
  readonly name: string
  /** The text before the member's value. */
  readonly lead: string
}

/** The objects of a list usually have the same members, so the order of the last one is reused. */
let last: { readonly names: readonly string[]; readonly order: readonly Member[] } = {
  names: [],
  order: [],
}

function membersInOrder(names: readonly string[]): readonly Member[] {
  if (
    names.length === last.names.length &&
    names.every((name, index) => name === last.names[index])
  )
    return last.order
  const order = [...names]
    .sort()
    .map((name, index) => ({ name, lead: `${index === 0 ? '{' : ','}${canonicalString(name)}:` }))
  last = { names, order }
  return order
}
