import type { Clock } from '@bonded/core/ports/clock'
import { GenerationCache } from '@bonded/core/collections/generation-cache'

/** A bound on memory: more phone numbers than are checked in a minute. */
const MAX_ENTRIES = 10_000

/** Values that are valid for a limited time. */
export interface TtlCache<T> {
  get(name: string): T | undefined
  set(name: string, value: T, ms: number): void
  delete(name: string): void
}

/**
 * Makes a bounded cache whose values expire. When full, it drops the least recently used values.
 */
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
