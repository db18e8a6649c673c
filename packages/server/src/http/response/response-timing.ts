import type { Reason } from '@bonded/contract'

/**
 * Rejections whose cause must not show, not even by their timing. The service responds to each at
 * the next multiple of this many milliseconds after the request arrived. The grid is several times
 * longer than the work, and too short for a user to notice.
 */
const GRID_MS: Partial<Record<Reason, number>> = {
  session_not_found: 3,
  assertion_invalid: 10,
  attestation_invalid: 10,
}
/**
 * Timers count whole milliseconds from when the event loop sleeps. A timer alone would therefore
 * reveal the time of the work before it.
 */
const TIMER_GRAIN_MS = 1
/** The most responses held at once, because each one keeps a request and its connection open. */
export const MAX_HELD_RESPONSES = 1_024

interface Held {
  readonly dueMs: number
  readonly response: () => void
}

/** Holds responses until they are due, all with one timer. */
export interface ResponseAligner {
  /**
   * @returns a promise that resolves when the response is due; undefined if it need not wait;
   * `full` if too many responses are held
   */
  readonly align: (reason: Reason, arrivedMs: number) => Promise<void> | 'full' | undefined
  /** How many responses are held. */
  readonly held: () => number
}

/**
 * Aligns rejections to a time grid. By protocol 3 and 5, a foreign, an unknown and a purged session
 * and a wrong watch token read the same, in the same time. So do an assertion's wrong hash,
 * signature and counter. Their work differs (a row exists or not), so the grid hides its duration.
 */
export function responseAligner(now: () => number = () => performance.now()): ResponseAligner {
  let held: Held[] = []
  let nextMs = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let polling = false
  const wake = () => {
    timer = undefined
    polling = false
    const nowMs = now()
    if (nowMs >= nextMs) {
      const due = held.filter(({ dueMs }) => dueMs <= nowMs)
      held = held.filter(({ dueMs }) => dueMs > nowMs)
      nextMs = held.reduce((least, { dueMs }) => Math.min(least, dueMs), Number.POSITIVE_INFINITY)
      for (const { response } of due) response()
    }
    schedule()
  }
  const schedule = () => {
    if (polling || held.length === 0) return
    clearTimeout(timer)
    const sleepMs = Math.floor(nextMs - now()) - TIMER_GRAIN_MS
    if (sleepMs > 0) {
      timer = setTimeout(wake, sleepMs)
      return
    }
    // Waits for the last millisecond in turns of the event loop, which serves others meanwhile.
    polling = true
    setImmediate(wake)
  }
  return {
    held: () => held.length,
    align(reason, arrivedMs) {
      const gridMs = GRID_MS[reason]
      if (gridMs === undefined) return undefined
      if (held.length >= MAX_HELD_RESPONSES) return 'full'
      const dueMs = arrivedMs + Math.ceil((now() - arrivedMs) / gridMs) * gridMs
      const { promise, resolve } = Promise.withResolvers<void>()
      held.push({ dueMs, response: resolve })
      nextMs = Math.min(nextMs, dueMs)
      schedule()
      return promise
    },
  }
}

/** One aligner for the process, shared by all its servers. */
const aligner = responseAligner()

/** See `ResponseAligner.align`. If too many responses are held, this one is sent at once. */
export function alignResponse(reason: Reason, arrivedMs: number): Promise<void> | undefined {
  const due = aligner.align(reason, arrivedMs)
  return due === 'full' ? undefined : due
}
