/**
 * Calls back when the page comes back to life: shown again, restored from the back-forward cache, unfrozen,
 * or online again. Timers lag and sockets die in a page that sleeps. Returns what stops it.
 */
export function onWake(wake: () => void): () => void {
  const stop = new AbortController()
  const { signal } = stop
  const shown = () => {
    if (document.visibilityState === 'visible') wake()
  }
  document.addEventListener('visibilitychange', shown, { signal })
  document.addEventListener('resume', shown, { signal })
  addEventListener('online', wake, { signal })
  addEventListener('pageshow', ({ persisted }) => persisted && wake(), { signal })
  return () => stop.abort()
}
