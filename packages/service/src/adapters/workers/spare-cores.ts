import { availableParallelism } from 'node:os'

/** How many threads may compute beside the event loop, which keeps a core to itself where there is more than one. */
export function spareCores(most: number): number {
  return Math.max(1, Math.min(most, availableParallelism() - 1))
}
