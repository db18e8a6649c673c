import { isWellFormed } from './well-formed.ts'

/** Why a text is not acceptable JSON. */
export type StrictJsonProblem =
  | 'malformed_json'
  | 'duplicate_member'
  | 'nesting_too_deep'
  | 'lone_surrogate'
  | 'null_character'

/**
 * The parsed value, or the problem with the text. `member` is the name of a duplicate member, or
 * the path of the string with U+0000, such as `context.display.0.value`.
 */
export type StrictJsonResult =
  | { readonly value: unknown }
  | { readonly problem: StrictJsonProblem; readonly member?: string }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COLON = 0x3a

/** Protocol 1: the outermost container is level 1 of 16. */
export const MAX_NESTING = 16

/**
 * JSON.parse that also rejects four things: a duplicate member, of which two readers could use
 * different ones; nesting deeper than 16; strings that are not well-formed Unicode; and U+0000 in a
 * string or a name, where databases and C programs end a text.
 *
 * @example parseStrictJson('{"a":1,"a":2}') // { problem: 'duplicate_member', member: 'a' }
 */
export function parseStrictJson(text: string): StrictJsonResult {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'malformed_json' }
  }
  if (isContainer(value) && nestsDeeper(value, MAX_NESTING)) return { problem: 'nesting_too_deep' }
  // A text that JSON.stringify reproduces exactly lost no member. Most clients write such a text.
  if (JSON.stringify(value) !== text) {
    const found = scan(text)
    // A member that JSON.parse dropped may have been deeper.
    if (found.depth > MAX_NESTING) return { problem: 'nesting_too_deep' }
    // JSON.parse drops the first of two equal members, so the value has fewer than the text.
    if (found.members !== countMembers(value)) return duplicateOf(text)
  }
  // In valid UTF-8 only an escape can express a lone surrogate or, in JSON, a control character.
  if (!text.includes('\\')) return { value }
  if (!isWellFormedDeep(value)) return { problem: 'lone_surrogate' }
  const path = text.includes('\\u0000') ? pathOfNull(value) : undefined
  return path === undefined ? { value } : { problem: 'null_character', member: path.join('.') }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether an object or a list of JSON.parse nests deeper than so many levels. */
function nestsDeeper(container: object, levels: number): boolean {
  if (levels === 0) return true
  if (Array.isArray(container))
    return container.some((item) => isContainer(item) && nestsDeeper(item, levels - 1))
  // `for in` allocates nothing for the objects of a long list.
  for (const name in container) {
    const member = (container as Record<string, unknown>)[name]
    if (isContainer(member) && nestsDeeper(member, levels - 1)) return true
  }
  return false
}

/**
 * The depth and the number of members of a valid JSON text: one for each colon outside a string.
 */
function scan(text: string): { depth: number; members: number } {
  let open = 0
  let depth = 0
  let members = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) index = endOfString(text, index)
    else if (unit === COLON) members++
    else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      open++
      if (open > depth) depth = open
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) open--
  }
  return { depth, members }
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item)
    return count
  }
  for (const name of Object.keys(value))
    count += 1 + countMembers((value as Record<string, unknown>)[name])
  return count
}

/** The duplicate member of a text that has one. */
function duplicateOf(text: string): StrictJsonResult {
  // The names of each open object; nothing for an open array.
  const open: (Set<string> | undefined)[] = []
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) {
      const end = endOfString(text, index)
      // A string is a member's name exactly when a colon follows it.
      if (nextSolid(text, end + 1) === COLON) {
        const name = JSON.parse(text.slice(index, end + 1)) as string
        const names = open.at(-1)
        if (names?.has(name)) return { problem: 'duplicate_member', member: name }
        names?.add(name)
      }
      index = end
    } else if (unit === OPEN_BRACE || unit === OPEN_BRACKET)
      open.push(unit === OPEN_BRACE ? new Set() : undefined)
    else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) open.pop()
  }
  return { problem: 'duplicate_member' }
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++
    // An even run of backslashes escapes itself, not the quote.
    if (escapes % 2 === 0) return end
  }
  return text.length
}

function nextSolid(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return text.charCodeAt(at)
}

function isWellFormedDeep(value: unknown): boolean {
  if (typeof value === 'string') return isWellFormed(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(
    ([name, member]) => isWellFormed(name) && isWellFormedDeep(member),
  )
}

/** The path of the first string or name with U+0000. An escaped backslash can look like one. */
function pathOfNull(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return value.includes('\0') ? [] : undefined
  if (!isContainer(value)) return undefined
  for (const [name, member] of Object.entries(value)) {
    const below = name.includes('\0') ? [] : pathOfNull(member)
    if (below !== undefined) return [name, ...below]
  }
  return undefined
}
