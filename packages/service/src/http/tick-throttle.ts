/** Goes on at once or when its turn comes. @returns false where too many wait already; then it never goes on */
export type TakeTurn = (goOn: () => void) => boolean

/**
 * Lets one go on in each turn of the event loop, in the order in which they came. All that came at once would go on in
 * one turn, and whoever else asks would wait for the sum of them.
 */
export function tickThrottle({ maxWaiting }: { maxWaiting: number }): TakeTurn {
  const waiting: (() => void)[] = []
  let taken = false
  const take = (goOn: () => void) => {
    taken = true
    setImmediate(nextTurn)
    goOn()
  }
  const nextTurn = () => {
    const goOn = waiting.shift()
    if (goOn === undefined) taken = false
    else take(goOn)
  }
  return (goOn) => {
    const full = taken && waiting.length >= maxWaiting
    if (full) return false
    if (taken) waiting.push(goOn)
    else take(goOn)
    return true
  }
}
