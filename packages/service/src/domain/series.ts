/** Sums over short series of numbers. Where a series says nothing, because it is empty or always the same, the answer is 0. */

/** From each number to the next. */
export function differences(series: readonly number[]): readonly number[] {
  return series.slice(1).map((value, at) => value - (series[at] ?? 0))
}

/** The standard deviation. */
export function spread(series: readonly number[]): number {
  return series.length === 0 ? 0 : Math.sqrt(moments(series, series, 0).ofA / series.length)
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

function correlation(a: readonly number[], b: readonly number[], lag: number): number {
  const { ofA, ofB, ofBoth } = moments(a, b, lag)
  const size = Math.sqrt(ofA * ofB)
  // Numbers that differ by rounding only agree with nothing.
  return size < 1e-12 ? 0 : ofBoth / size
}

/** Sums of squares and products around the means, of the first series and what stands `lag` later in the second one. */
function moments(a: readonly number[], b: readonly number[], lag: number): { ofA: number; ofB: number; ofBoth: number } {
  const pairs = a.length - lag
  let [meanA, meanB] = [0, 0]
  for (let at = 0; at < pairs; at++) {
    meanA += (a[at] ?? 0) / pairs
    meanB += (b[at + lag] ?? 0) / pairs
  }
  let [ofA, ofB, ofBoth] = [0, 0, 0]
  for (let at = 0; at < pairs; at++) {
    const [fromA, fromB] = [(a[at] ?? 0) - meanA, (b[at + lag] ?? 0) - meanB]
    ofA += fromA * fromA
    ofB += fromB * fromB
    ofBoth += fromA * fromB
  }
  return { ofA, ofB, ofBoth }
}
