import { bare } from './members.ts'

/**
 * Calls back when the page comes back to life: shown again, restored from the back-forward cache, unfrozen,
 * or online again. Timers lag and sockets die in a page that sleeps. Returns what stops it.
 */
export function onWake(wake: () => void): () => void {
  const stop = new AbortController()
  const listening = bare({ signal: stop.signal })
  const shown = () => {
    if (document.visibilityState === 'visible') wake()
  }
  document.addEventListener('visibilitychange', shown, listening)
  document.addEventListener('resume', shown, listening)
  addEventListener('online', wake, listening)
  addEventListener('pageshow', ({ persisted }) => persisted && wake(), listening)
  return () => stop.abort()
}
