import type { Reason } from '@bonded/contract'

/**
 * Rejections that do not show what led to them, not even by their time. Each is answered at the next
 * multiple of so many milliseconds after its request arrived: several times what finding out takes, and
 * nothing to a person.
 */
const GRID_MS: Partial<Record<Reason, number>> = {
  session_not_found: 3,
  assertion_invalid: 10,
  attestation_invalid: 10,
}
/** Timers count whole milliseconds from when the event loop goes to sleep, so a timer alone would show the work done before. */
const TIMER_GRAIN_MS = 1
/** Each held answer is a request and its connection: more than this many are not held. */
export const MAX_HELD_RESPONSES = 1_024

interface Held {
  readonly dueMs: number
  readonly answer: () => void
}

/** Holds answers until they are due, all with one timer and one loop. */
export interface ResponseAligner {
  /**
   * @returns settles when the answer is due; undefined where it need not wait; `full` where too many wait
   */
  readonly align: (reason: Reason, arrivedMs: number) => Promise<void> | 'full' | undefined
  /** How many answers are held. */
  readonly held: () => number
}

/**
 * Aligns rejections to a grid. Protocol 3 and 5: a foreign, an unknown and a purged session and a wrong
 * watch token read the same, in the same time, and so do an assertion's wrong hash, signature and
 * counter. Their work cannot be made the same (a row exists or not), so none of it shows.
 */
export function responseAligner(now: () => number = () => performance.now()): ResponseAligner {
  let held: Held[] = []
  let nextMs = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let turning = false
  const wake = () => {
    timer = undefined
    turning = false
    const nowMs = now()
    if (nowMs >= nextMs) {
      const due = held.filter(({ dueMs }) => dueMs <= nowMs)
      held = held.filter(({ dueMs }) => dueMs > nowMs)
      nextMs = held.reduce((least, { dueMs }) => Math.min(least, dueMs), Number.POSITIVE_INFINITY)
      for (const { answer } of due) answer()
    }
    schedule()
  }
  const schedule = () => {
    if (turning || held.length === 0) return
    clearTimeout(timer)
    const sleepMs = Math.floor(nextMs - now()) - TIMER_GRAIN_MS
    if (sleepMs > 0) {
      timer = setTimeout(wake, sleepMs)
      return
    }
    // The last millisecond is waited for in turns of the event loop, which serve others meanwhile.
    turning = true
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
      held.push({ dueMs, answer: resolve })
      nextMs = Math.min(nextMs, dueMs)
      schedule()
      return promise
    },
  }
}

/** One for the process: the answers of all servers share one loop. */
const aligner = responseAligner()

/** See `ResponseAligner.align`. Where too many answers are held, this one is answered at once. */
export function alignResponse(reason: Reason, arrivedMs: number): Promise<void> | undefined {
  const due = aligner.align(reason, arrivedMs)
  return due === 'full' ? undefined : due
}
