/** Runs a piece of work when its turn comes. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Lets so many pieces of work run at once; the others wait in order. What a piece does on the event loop is short, but
 * fifty of them starting in one turn would hold up every other request.
 */
export function atMost(count: number): InTurn {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    // Whoever is woken takes over the place of the one that ended.
    if (running >= count) await new Promise<void>((resolve) => waiting.push(resolve))
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

/** Registrations at once. Node verifies signatures on four threads; more would only wait there. */
export const registrationsInTurn: InTurn = atMost(4)
