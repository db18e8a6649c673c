/**
 * Runs a task at once or in a later turn.
 *
 * @returns false if too many tasks wait already. The task then never runs.
 */
export type TakeTurn = (task: () => void) => boolean

/**
 * Runs one task in each turn of the event loop, in order of arrival. Tasks that arrive together
 * would otherwise run in one turn and delay all other requests by their sum.
 */
export function tickThrottle({ maxWaiting }: { maxWaiting: number }): TakeTurn {
  const waiting: (() => void)[] = []
  let busy = false
  const run = (task: () => void) => {
    busy = true
    setImmediate(nextTurn)
    task()
  }
  const nextTurn = () => {
    const task = waiting.shift()
    if (task === undefined) busy = false
    else run(task)
  }
  return (task) => {
    const full = busy && waiting.length >= maxWaiting
    if (full) return false
    if (busy) waiting.push(task)
    else run(task)
    return true
  }
}
