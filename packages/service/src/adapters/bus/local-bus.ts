import type { SessionId } from '@bonded/contract'
import type { Announcement, Bus } from '../../ports/bus.ts'

/** A bus whose publishers and listeners share one process. Listeners run synchronously. */
export function localBus(): Bus {
  const listeners = new Map<SessionId, Set<(announcement: Announcement) => void>>()
  return {
    publish(announcement) {
      for (const listener of listeners.get(announcement.sessionId) ?? []) listener(announcement)
    },
    subscribe(sessionId, listener) {
      const watching = listeners.get(sessionId) ?? new Set()
      watching.add(listener)
      listeners.set(sessionId, watching)
      return () => {
        watching.delete(listener)
        if (watching.size === 0 && listeners.get(sessionId) === watching)
          listeners.delete(sessionId)
      }
    },
  }
}
