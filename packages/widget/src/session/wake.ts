import { bare } from '@bonded/contract'

/**
 * Calls back when the page goes into the back-forward cache or is closed. A page with an open
 * channel cannot enter the cache.
 *
 * @returns a function that removes the listener
 */
export function onSleep(sleep: (isFinal: boolean) => void): () => void {
  const stop = new AbortController()
  addEventListener('pagehide', ({ persisted }) => sleep(!persisted), bare({ signal: stop.signal }))
  return () => stop.abort()
}

/**
 * Calls back when the page becomes active: visible, restored from the back-forward cache, resumed
 * or online. Timers and sockets stop in a suspended page.
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
