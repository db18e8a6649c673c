import type { Batch } from './batch.ts'
import type { Service } from '../service.ts'

/** Notifies watchers of changes by other processes, such as an operator's kill. */
export async function publishExternalChanges({ store, bus }: Service): Promise<Batch> {
  const events = await store.externalChanges()
  for (const notification of events) bus.publish(notification)
  const quiet = events.length === 0 && store.isNotified?.() === true
  return { done: events.length, more: false, quiet }
}
