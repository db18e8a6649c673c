import type { Unreadiness } from '@bonded/contract'
import { MAX_CLOCK_DIFFERENCE_MS } from '../domain/lifetimes.ts'
import type { Service } from './service.ts'

/**
 * What keeps the service from doing its work just now; nothing where it is ready. Judged from what is stored,
 * in a fixed number of statements, so that it may be asked every second.
 */
export async function checkReadiness(service: Service): Promise<readonly Unreadiness[]> {
  const unready = [...(await service.store.health())]
  try {
    const latest = await service.store.read((tables) => tables.sessions.latest())
    if (latest === undefined) return unready
    const { rootKeyId, createdAt } = latest
    // Older ones may be left from before a key was dropped on purpose: they end by themselves.
    if (!service.keys.holds(rootKeyId) && createdAt >= service.startedAt)
      unready.push('keys_unknown')
    if (createdAt > service.clock.now() + MAX_CLOCK_DIFFERENCE_MS) unready.push('clock_behind')
  } catch {
    if (!unready.includes('store_unreadable')) unready.push('store_unreadable')
  }
  return unready
}
