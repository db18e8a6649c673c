/** Runs acts one after the other. A failed act does not stop the next. */
export function queue(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const turn = last.then(act, act)
    last = turn.catch(() => {})
    return turn
  }
}
