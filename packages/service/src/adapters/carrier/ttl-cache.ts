import type { Clock } from '../../ports/clock.ts'
import { GenerationCache } from '../cache/generation-cache.ts'

/** More phone numbers than are checked in a minute; a bound on memory. */
const MAX_ENTRIES = 10_000

/** Values that are valid for a limited time. */
export interface TtlCache<T> {
  get(name: string): T | undefined
  set(name: string, value: T, ms: number): void
  delete(name: string): void
}

/** A bounded cache whose values expire. The values used last stay when it is full. */
export function ttlCache<T>(clock: Clock): TtlCache<T> {
  const cache = new GenerationCache<string, { readonly value: T; readonly expiresAt: number }>(
    MAX_ENTRIES,
  )
  return {
    get(name) {
      const found = cache.get(name)
      if (found === undefined || clock.now() < found.expiresAt) return found?.value
      cache.delete(name)
      return undefined
    },
    set(name, value, ms) {
      if (ms > 0) cache.set(name, { value, expiresAt: clock.now() + ms })
    },
    delete: (name) => cache.delete(name),
  }
}
