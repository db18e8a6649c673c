import { constants, getPriority, setPriority } from 'node:os'

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority

/**
 * Lowers the scheduling priority of the calling worker thread, so that its long work does not delay
 * other requests. On Linux a thread has its own priority. On other systems this does nothing,
 * because it would slow the whole process.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    // Relative to the priority of the process: a higher one would require a privilege.
    setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW))
  } catch {
    // A sandbox may forbid the change. The worker then runs at normal priority.
  }
}
