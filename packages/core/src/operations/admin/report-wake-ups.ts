import type { Service } from '../service.ts'
import { pushKeyOf } from '../inbox/wake-phones.ts'

/**
 * How many phones the service can wake, and a warning if it can wake none of them. Undefined if no
 * phone has subscribed.
 */
export function reportWakeUps(
  service: Service,
): Promise<{ readonly says: string; readonly warnings: readonly string[] } | undefined> {
  return service.store.read(function* (tables) {
    const phones = yield* tables.push.count()
    if (phones === 0) return undefined
    const warning =
      'No listed root key opens the key of wake-ups. List the root key that does, or restart: a start replaces the key, and the phones must subscribe again.'
    const warnings = (yield* pushKeyOf(service, tables)) === undefined ? [warning] : []
    return { says: `Phones that have subscribed: ${phones}.`, warnings }
  })
}
