import { constants, getPriority, setPriority } from 'node:os'

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority

/**
 * In a worker: every other thread goes first. Whoever asked for long work waits anyway; all others would wait for a
 * processor. On Linux a thread has a priority of its own; elsewhere the whole process would be made slower.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    // From where the process was started: to go before it would take a privilege, and would not be to give way.
    setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW))
  } catch {
    // Where a sandbox forbids it, the work is done at the usual priority.
  }
}
