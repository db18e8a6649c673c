import type { Clock } from '../../ports/clock.ts'

/** More numbers than are asked for in a minute; a bound on memory. */
const MAX_KEPT = 10_000

/** Values that are right only for a while. What is kept longest makes room. */
export interface TtlCache<T> {
  get(name: string): T | undefined
  set(name: string, value: T, ms: number): void
  delete(name: string): void
}

export function ttlCache<T>(clock: Clock): TtlCache<T> {
  const kept = new Map<string, { readonly value: T; readonly until: number }>()
  return {
    get(name) {
      const found = kept.get(name)
      if (found === undefined || clock.now() < found.until) return found?.value
      kept.delete(name)
      return undefined
    },
    set(name, value, ms) {
      if (ms <= 0) return
      kept.delete(name)
      const [oldest] = kept.keys()
      if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
      kept.set(name, { value, until: clock.now() + ms })
    },
    delete: (name) => void kept.delete(name),
  }
}
