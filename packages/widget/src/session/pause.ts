/** A wait that can be cut short, and a signal for requests that should be cut short with it. */
export interface Interruptible {
  readonly pause: (ms: number) => Promise<void>
  readonly signal: () => AbortSignal
  /** Ends the running pause and aborts the requests that took the signal. */
  readonly interrupt: () => void
}

/** Makes one. Each interruption acts once, on what runs now. */
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
