import type { SessionId } from '@bonded/contract'
import type { ChangeNotification, Bus } from '../../ports/bus.ts'

/** A bus whose publishers and listeners share one process. Listeners run synchronously. */
export function localBus(): Bus {
  const listeners = new Map<SessionId, Set<(notification: ChangeNotification) => void>>()
  return {
    publish(notification) {
      for (const listener of listeners.get(notification.sessionId) ?? []) listener(notification)
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
    isWatched: (sessionId) => listeners.has(sessionId),
  }
}
