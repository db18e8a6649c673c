import type { Service } from '../service.ts'
import { pushKeyOf } from '../wake-phones.ts'

/** How many phones the service can wake, and a warning if it can wake none of them. */
export function reportWakeUps(
  service: Service,
): Promise<{ readonly phones: number; readonly warnings: readonly string[] }> {
  return service.store.read(function* (tables) {
    const phones = yield* tables.push.count()
    if (phones === 0 || (yield* pushKeyOf(service, tables))) return { phones, warnings: [] }
    const warning =
      'No listed root key opens the key of wake-ups. List the root key that does, or restart: a start replaces the key, and the phones must subscribe again.'
    return { phones, warnings: [warning] }
  })
}
