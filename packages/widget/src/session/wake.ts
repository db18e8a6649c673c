import { bare } from '@bonded/contract'

/**
 * Calls back when the page becomes active: visible, restored from the back-forward cache, resumed or
 * online. Timers and sockets stop in a suspended page.
 *
 * @returns a function that removes the listeners
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
