/** Above this threshold two sets of times differ (dudect's bound: once in 100,000 by chance). */
const DISTINGUISHABLE_T = 4.5
/**
 * Outliers come from the machine, not from the service, so times are cropped at several heights, as
 * dudect does.
 */
const CROPS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1] as const

/** Welch's t of two sets of times, at the crop where they differ most. */
function worstWelchT(a: Float64Array, b: Float64Array): number {
  const together = Float64Array.from([...a, ...b]).sort()
  const all = CROPS.map((crop) => {
    const ceiling = together[Math.ceil(crop * together.length) - 1] as number
    return welchT(
      a.filter((time) => time <= ceiling),
      b.filter((time) => time <= ceiling),
    )
  })
  return all.reduce((worst, t) => (Math.abs(t) > Math.abs(worst) ? t : worst), 0)
}

function welchT(a: Float64Array, b: Float64Array): number {
  const [left, right] = [spread(a), spread(b)]
  return (left.mean - right.mean) / Math.sqrt(left.variance / a.length + right.variance / b.length)
}

function spread(times: Float64Array): { mean: number; variance: number } {
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length
  const variance = times.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (times.length - 1)
  return { mean, variance }
}

/** Every sample of every kind once, in random order. */
export function* samplesInRandomOrder(
  kinds: number,
  samples: number,
): Generator<{ kind: number; sample: number }> {
  const order = Uint32Array.from({ length: kinds * samples }, (_, index) => index)
  for (let index = order.length - 1; index > 0; index--) {
    const swap = Math.floor(Math.random() * (index + 1))
    const current = order[index] as number
    order[index] = order[swap] as number
    order[swap] = current
  }
  for (const place of order) yield { kind: place % kinds, sample: Math.floor(place / kinds) }
}

/** The times of each kind of response to one caller, in microseconds. */
export interface Times {
  readonly caller: string
  readonly kinds: readonly { readonly name: string; readonly times: Float64Array }[]
}

/** Compares each kind with each other one, and prints it. Returns how many pairs differ. */
export function comparePairs({ caller, kinds }: Times): number {
  let distinguishable = 0
  for (const [at, one] of kinds.entries())
    for (const other of kinds.slice(at + 1)) {
      const t = worstWelchT(one.times, other.times)
      const differs = Math.abs(t) >= DISTINGUISHABLE_T
      if (differs) distinguishable += 1
      const micros = (medianTime(one.times) - medianTime(other.times)).toFixed(1)
      console.log(
        `${caller}: ${one.name} / ${other.name}: t = ${t.toFixed(2)}, ${micros} µs between the medians${differs ? '  DISTINGUISHABLE' : ''}`,
      )
    }
  console.log(
    `${caller}: medians ${kinds.map(({ name, times }) => `${name} ${medianTime(times).toFixed(1)} µs`).join(', ')}`,
  )
  return distinguishable
}

function medianTime(times: Float64Array): number {
  return times.toSorted()[times.length >> 1] ?? Number.NaN
}
