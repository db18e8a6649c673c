import type { Work } from '@bonded/core/ports/work'

/** Any method of a table. Its rule has the method's own types. */
// oxlint-disable-next-line typescript/no-explicit-any -- only `any` matches all methods
type Method = (...args: any[]) => Work<any>

/**
 * What a cache does with one method of its table.
 *
 * - `read` replaces a method that the cache can answer.
 * - `write` drops the entries that the write may change. It may return a function that adds entries
 *   from what the write returned.
 * - `passed` is a method that neither uses nor changes a cached row.
 */
export type CacheRule<M extends Method> =
  | { readonly read: M; readonly write?: never }
  | { readonly write: Drop<M>; readonly read?: never }
  | 'passed'

type Drop<M extends Method> = (
  ...args: Parameters<M>
) =>
  | ((result: M extends (...args: never[]) => Work<infer R> ? R : never) => void)
  | undefined
  | void

/** The rules for a table. One that leaves out a method does not compile. */
export type CacheRules<Table> = {
  readonly [Name in keyof Table]-?: Table[Name] extends Method ? CacheRule<Table[Name]> : never
}

/**
 * Adds a cache of committed rows to a table. A write drops entries before it runs, and adds some
 * only after it has returned. A write that throws therefore leaves no entry behind, even if its
 * unit catches the error and commits.
 */
export function cachedTable<Table extends object>(table: Table, rules: CacheRules<Table>): Table {
  const methods = Object.entries<CacheRule<Method>>(rules).map(([name, rule]) => {
    const method = table[name as keyof Table] as Method
    return [name, rule === 'passed' ? method : (rule.read ?? writing(method, rule.write))]
  })
  return Object.fromEntries(methods) as Table
}

function writing(method: Method, drop: Drop<Method>): Method {
  return function* (...args) {
    const add = drop(...args)
    const result: unknown = yield* method(...args)
    add?.(result)
    return result
  }
}
