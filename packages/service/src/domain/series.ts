/** Sums over short series of numbers. Where a series says nothing, because it is empty or always the same, the answer is 0. */

/** From each number to the next. */
export function differences(series: readonly number[]): readonly number[] {
  return series.slice(1).map((value, at) => value - (series[at] ?? 0))
}

/** The standard deviation. */
export function spread(series: readonly number[]): number {
  return series.length === 0 ? 0 : Math.sqrt(products(series, series) / series.length)
}

/** The correlation of two series of one length, -1 to 1. */
export function agreement(a: readonly number[], b: readonly number[]): number {
  return correlation(a, b, 0)
}

/** Shorter loops than this are how people walk. */
const MIN_LAG = 3
/** Over fewer pairs a high correlation is chance. */
const MIN_PAIRS = 20

/** The strongest correlation of both series with themselves some numbers later; -1 where they are too short to tell. */
export function repetition(a: readonly number[], b: readonly number[]): number {
  let strongest = -1
  for (let lag = MIN_LAG; a.length - lag >= MIN_PAIRS && lag <= a.length / 2; lag++) {
    strongest = Math.max(strongest, (correlation(a, a, lag) + correlation(b, b, lag)) / 2)
  }
  return strongest
}

/** Of the first series with the second one, `lag` numbers later. */
function correlation(a: readonly number[], b: readonly number[], lag: number): number {
  const [early, late] = lag === 0 ? [a, b] : [a.slice(0, -lag), b.slice(lag)]
  const both = Math.sqrt(products(early, early) * products(late, late))
  // Numbers that differ by rounding only agree with nothing.
  return both < 1e-12 ? 0 : products(early, late) / both
}

/** The sum of the products of what each number has above its series' mean. */
function products(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [meanOf(a), meanOf(b)]
  return a.reduce((sum, value, at) => sum + (value - meanA) * ((b[at] ?? meanB) - meanB), 0)
}

function meanOf(series: readonly number[]): number {
  return series.reduce((sum, value) => sum + value, 0) / series.length
}
