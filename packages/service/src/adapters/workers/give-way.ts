import { constants, setPriority } from 'node:os'

/**
 * In a worker: every other thread goes first. Whoever asked for long work waits anyway; all others would wait for a
 * processor. On Linux a thread has a priority of its own; elsewhere the whole process would be made slower.
 */
export function giveWay(): void {
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
}
