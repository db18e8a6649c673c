/** The members of an object that came from outside. */
export type Members = Readonly<Record<string, unknown>>

/**
 * The own members of an object from a page, a backend, the service or a store; undefined for any
 * other value. The result has no prototype, so a polluted `Object.prototype.session` or `.state`
 * is never read as a member that the sender left out.
 *
 * @example ownMembers({ state: 'pending' })?.['state'] // 'pending'
 */
export function ownMembers(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? bare(value as Record<string, unknown>)
    : undefined
}

/**
 * The same members without those that are null: a null option counts as omitted. The result has no
 * prototype.
 *
 * @example withoutNulls({ locale: null, action: 'pay' }) // { action: 'pay' }
 */
export function withoutNulls(members: Members): Members {
  return bare(Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)))
}

/** The members of a value that is not an object. */
export const NO_MEMBERS: Members = Object.freeze(Object.create(null) as Members)

/**
 * The same members without a prototype. Browsers and libraries look up the options that a caller
 * leaves out: from a plain object they would read those of a polluted `Object.prototype`.
 *
 * @example 'toString' in bare({ mode: 'open' }) // false
 */
export function bare<T extends object>(members: T): T {
  return Object.assign(Object.create(null) as T, members)
}

/**
 * The own members of the object in a JSON text; undefined for any other text.
 *
 * @example parseMembers('{"ok":true}')?.['ok'] // true
 */
export function parseMembers(text: unknown): Members | undefined {
  try {
    return typeof text === 'string' ? ownMembers(JSON.parse(text)) : undefined
  } catch {
    return undefined
  }
}
