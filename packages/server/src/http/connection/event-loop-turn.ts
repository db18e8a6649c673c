let turn = 0
let ends = false

/**
 * Returns the number of the current turn of the event loop. Two calls with the same result are at
 * most one turn apart.
 */
export function eventLoopTurn(): number {
  if (!ends) {
    ends = true
    setImmediate(() => {
      turn += 1
      ends = false
    })
  }
  return turn
}
