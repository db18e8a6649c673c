import { type Result, refuse } from '../../domain/refusal.ts'

/** Runs a piece of work when its turn comes, or refuses with `overloaded` where too many wait already. */
export type InTurn = <T>(work: () => Promise<Result<T>>) => Promise<Result<T>>

/**
 * Lets so many pieces of work run at once; the others wait in order. What a piece does on the event loop is short, but
 * fifty of them starting in one turn would hold up every other request.
 */
export function atMost({ running: most, waiting: mostWaiting }: { running: number; waiting: number }): InTurn {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= most && waiting.length >= mostWaiting) return refuse('overloaded', { step: 'registrations_waiting' })
    // Whoever is woken takes over the place of the one that ended.
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

/**
 * Node verifies signatures on four threads; more would only wait there. A registration takes some 5 ms, so who waits
 * last waits a second, long before the request is given up.
 */
export const registrationsInTurn: InTurn = atMost({ running: 4, waiting: 500 })
