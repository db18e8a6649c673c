import type { SessionId } from '@bonded/contract'
import type { ChangeNotification, Bus } from '@bonded/core/ports/bus'

type Listener = (notification: ChangeNotification) => void

/** A bus whose publishers and listeners share one process. Listeners run synchronously. */
export function localBus(): Bus {
  // Most sessions have one listener, for which a set would need ten times the memory.
  const listeners = new Map<SessionId, readonly Listener[]>()
  const ofAll = new Set<Listener>()
  return {
    publish(notification) {
      for (const listener of ofAll) listener(notification)
      for (const listener of listeners.get(notification.sessionId) ?? []) listener(notification)
    },
    subscribe(sessionId, listener) {
      listeners.set(sessionId, (listeners.get(sessionId) ?? []).concat(listener))
      return () => {
        const others = (listeners.get(sessionId) ?? []).filter((known) => known !== listener)
        if (others.length > 0) listeners.set(sessionId, others)
        else listeners.delete(sessionId)
      }
    },
    subscribeAll(listener) {
      ofAll.add(listener)
      return () => void ofAll.delete(listener)
    },
    isWatched: (sessionId) => listeners.has(sessionId),
  }
}
