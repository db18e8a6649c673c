import type { Batch } from './batch.ts'
import type { Service } from './service.ts'

/** Tells whoever watches a session of what another process did to it: an operator that killed it, say. */
export async function publishExternalChanges({ store, bus }: Service): Promise<Batch> {
  const events = await store.externalChanges()
  for (const announcement of events) bus.publish(announcement)
  return { done: events.length, more: false }
}
