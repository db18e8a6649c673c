/** What lies above is the machine's doing, not the service's: times are cropped at several heights, as dudect does. */
const CROPS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1] as const

/** Welch's t of two sets of times, at the crop where they differ most. */
export function worstWelchT(a: Float64Array, b: Float64Array): number {
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
