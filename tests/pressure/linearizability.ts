/** How an object behaves with one call at a time: the rule that a recorded history must satisfy. */
export interface Model<State, Call, CallResponse> {
  /** Pure: the state after the call, and the response that the call must return. */
  apply(state: State, call: Call): readonly [State, CallResponse]
  /** Whether an observed response matches the required one. */
  accepts(due: CallResponse, seen: CallResponse): boolean
}

/** One call as its caller saw it. The times are of one clock that advances at every step. */
export interface Recorded<Call, CallResponse> {
  readonly call: Call
  readonly calledAt: number
  /** Infinity when the response was lost: the call may have taken effect, or not. */
  readonly respondedAt: number
  /** Undefined when the call returns nothing, or the response was lost. */
  readonly response: CallResponse | undefined
}

/**
 * Searches for one order of all calls in which each takes effect between its call and its response,
 * and returns what the model requires (Wing and Gong). As in Lowe's variant, an order already tried
 * from the same state is not tried again.
 *
 * @returns that order, or undefined when none exists: the history is then not linearizable
 */
export function linearize<State, Call, CallResponse>(
  model: Model<State, Call, CallResponse>,
  initial: State,
  history: readonly Recorded<Call, CallResponse>[],
): readonly Recorded<Call, CallResponse>[] | undefined {
  const calls = [...history].sort((a, b) => a.calledAt - b.calledAt)
  const taken = calls.map(() => false)
  const order: Recorded<Call, CallResponse>[] = []
  const tried = new Set<string>()
  let responsesLeft = calls.filter(hasResponse).length

  const search = (state: State, lowest: number): boolean => {
    if (responsesLeft === 0) return true
    while (taken[lowest]) lowest += 1
    const place = `${lowest} ${maskFrom(taken, lowest)} ${JSON.stringify(state)}`
    if (tried.has(place)) return false
    tried.add(place)
    for (const at of mayComeNext(calls, taken, lowest)) {
      const recorded = calls[at] as Recorded<Call, CallResponse>
      const [next, due] = model.apply(state, recorded.call)
      if (recorded.response !== undefined && !model.accepts(due, recorded.response)) continue
      taken[at] = true
      order.push(recorded)
      if (hasResponse(recorded)) responsesLeft -= 1
      if (search(next, lowest)) return true
      if (hasResponse(recorded)) responsesLeft += 1
      order.pop()
      taken[at] = false
    }
    return false
  }
  return search(initial, 0) ? order : undefined
}

const hasResponse = ({ respondedAt }: { readonly respondedAt: number }) =>
  respondedAt !== Number.POSITIVE_INFINITY

/**
 * A call may come next only if it was made before the response of every remaining call. The
 * earliest response goes first.
 */
function mayComeNext(
  calls: readonly Recorded<unknown, unknown>[],
  taken: readonly boolean[],
  lowest: number,
): readonly number[] {
  let firstResponse = Number.POSITIVE_INFINITY
  const open: number[] = []
  for (let index = lowest; index < calls.length; index++) {
    const { calledAt, respondedAt } = calls[index] as Recorded<unknown, unknown>
    if (calledAt >= firstResponse) break
    if (taken[index]) continue
    open.push(index)
    firstResponse = Math.min(firstResponse, respondedAt)
  }
  const respondedAt = (at: number) => calls[at]?.respondedAt ?? 0
  return open
    .filter((at) => (calls[at]?.calledAt ?? 0) < firstResponse)
    .sort((a, b) => respondedAt(a) - respondedAt(b))
}

function maskFrom(taken: readonly boolean[], lowest: number): string {
  const last = taken.lastIndexOf(true)
  let mask = ''
  for (let index = lowest; index <= last; index++) mask += taken[index] ? '1' : '0'
  return mask
}
