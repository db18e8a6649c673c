/** An interruptible wait, and a signal for requests that the same interruption aborts. */
export interface Interruptible {
  readonly pause: (ms: number) => Promise<void>
  readonly signal: () => AbortSignal
  /** Ends the running pause and aborts the requests that took the signal. */
  readonly interrupt: () => void
}

/** Creates an interruptible wait. Each interruption affects only the current pause and requests. */
export function interruptible(): Interruptible {
  let current = new AbortController()
  return {
    pause: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        current.signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      }),
    signal: () => current.signal,
    interrupt() {
      const interrupted = current
      current = new AbortController()
      interrupted.abort()
    },
  }
}
