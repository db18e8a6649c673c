import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { Reason } from '@bonded/contract'

/**
 * Refusals that do not show what led to them, not even by their time: they are told 3, 6, 9, … or 10, 20, 30, …
 * milliseconds after the request came. Several times what finding out takes, and nothing to a person. Nobody honest asks
 * for what is not there in a hurry, or sends what does not verify.
 */
const TOLD_EVERY_MS: Partial<Record<Reason, number>> = {
  session_not_found: 3,
  assertion_invalid: 10,
  attestation_invalid: 10,
}
/** A timer's waits are whole milliseconds from when the loop goes to sleep, so the work done before shows in when it wakes. */
const TIMER_GRAIN_MS = 1

/**
 * Waits until a refusal may be told. Protocol 3 and 5: a foreign, an unknown and a forgotten session and a wrong watch
 * token read the same, in the same time, and so do an assertion's wrong hash, signature and counter. What they take
 * cannot be made the same (a row is there or not, a signature is looked at or not), so none of it is shown.
 *
 * @param arrivedMs of the request, on the clock of `performance.now()`
 * @returns nothing to wait for: undefined
 */
export function alignResponse(reason: Reason, arrivedMs: number): Promise<void> | undefined {
  const everyMs = TOLD_EVERY_MS[reason]
  return everyMs === undefined ? undefined : untilNext(everyMs, arrivedMs)
}

async function untilNext(everyMs: number, arrivedMs: number): Promise<void> {
  const now = performance.now()
  const dueMs = arrivedMs + Math.ceil((now - arrivedMs) / everyMs) * everyMs
  await wait(Math.max(0, Math.floor(dueMs - now) - TIMER_GRAIN_MS))
  // The rest turn by turn, while others have the thread: it ends at a time, not after one.
  while (performance.now() < dueMs) await nextTurn()
}
