import type { Unreadiness } from '@bonded/contract'
import { MAX_CLOCK_DIFFERENCE_MS } from '../../domain/lifetimes.ts'
import type { Service } from '../service.ts'

/**
 * Returns the failing readiness checks; empty if the service is ready. It runs a fixed number of
 * statements on stored data, so that probes may call it every second.
 */
export async function checkReadiness(service: Service): Promise<readonly Unreadiness[]> {
  const unready = await findUnready(service)
  for (const check of unready) service.meter.failed(check)
  return unready
}

async function findUnready(service: Service): Promise<readonly Unreadiness[]> {
  // Load balancers must not send further requests, whatever the state of the store.
  if (service.shutdown.isAnnounced) return ['draining']
  const unready = [...(await service.store.health())]
  try {
    const latest = await service.store.read((tables) => tables.sessions.latest())
    if (latest === undefined) return unready
    const { rootKeyId, createdAt } = latest
    // Older sessions may belong to a root key that was dropped on purpose. They expire by
    // themselves.
    if (!service.keys.holds(rootKeyId) && createdAt >= service.startedAt)
      unready.push('keys_unknown')
    const isBehind = createdAt > service.clock.now() + MAX_CLOCK_DIFFERENCE_MS
    if (isBehind && !service.store.hasClock) unready.push('clock_behind')
  } catch {
    if (!unready.includes('store_unreadable')) unready.push('store_unreadable')
  }
  return unready
}
