import type { FetchLike, PhoneClock, WebSocketConstructor } from '@bonded/phone'

/** Longer than the longest poll. A connection without a response for longer has failed. */
const RESPONSE_WITHIN_MS = 40_000

/** Node's fetch with a timeout. */
export const nodeFetch: FetchLike = (url, { signal, ...request }) => {
  // In Node the callers' signals are the platform's own.
  const given = signal as AbortSignal | undefined
  const limit = AbortSignal.timeout(RESPONSE_WITHIN_MS)
  return fetch(url, {
    ...request,
    signal: given === undefined ? limit : AbortSignal.any([given, limit]),
  })
}

/** A monotonic clock. */
export const nodeClock: PhoneClock = {
  now: () => performance.now(),
  schedule(delayMs, act) {
    const timer = setTimeout(act, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Node's own WebSocket. */
export const nodeWebSocket: WebSocketConstructor = WebSocket
