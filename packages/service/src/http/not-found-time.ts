import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'

/** Several times what the slowest reading takes, and nothing to a person; nobody honest asks for what is not there in a hurry. */
const TOLD_AFTER_MS = 3
/** A timer's waits are whole milliseconds from when the loop goes to sleep, so the work done before shows in when it wakes. */
const TIMER_GRAIN_MS = 1

/**
 * Waits until a fixed time after the request came. Protocol 3: a foreign, an unknown and a forgotten session and a
 * wrong watch token read the same, in the same time. What they take cannot be made the same (a row is there or not,
 * kept in memory or not, its secret to be derived or not), so none of it is shown.
 *
 * @param arrivedMs of the request, on the clock of `performance.now()`
 */
export async function untilNotFoundIsTold(arrivedMs: number): Promise<void> {
  await wait(TOLD_AFTER_MS - TIMER_GRAIN_MS)
  // The rest turn by turn, while others have the thread: it ends at a time, not after one.
  while (performance.now() < arrivedMs + TOLD_AFTER_MS) await nextTurn()
}
