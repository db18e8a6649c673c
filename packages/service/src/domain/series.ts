/** Sums over short series of numbers. Where a series says nothing, because it is empty or always the same, the answer is 0. */

/** From each number to the next. */
export function differences(series: readonly number[]): readonly number[] {
  return series.slice(1).map((value, at) => value - (series[at] ?? 0))
}

/** The standard deviation. */
export function spread(series: readonly number[]): number {
  return series.length === 0 ? 0 : Math.sqrt(moments(series, series).ofA / series.length)
}

/** The correlation of two series of one length, -1 to 1. */
export function agreement(a: readonly number[], b: readonly number[]): number {
  return correlation(a, b)
}

/** Shorter loops than this are how people walk. */
const MIN_LAG = 3
/** Over fewer pairs a high correlation is chance. */
const MIN_PAIRS = 20

/** The strongest correlation of both series with themselves some numbers later; -1 where they are too short to tell. */
export function repetition(a: readonly number[], b: readonly number[]): number {
  const [overA, overB] = [sumsOver(a), sumsOver(b)]
  let strongest = -1
  for (let lag = MIN_LAG; a.length - lag >= MIN_PAIRS && lag <= a.length / 2; lag++) {
    strongest = Math.max(strongest, (withItself(overA, lag) + withItself(overB, lag)) / 2)
  }
  return strongest
}

/** A series around its mean, and the sums of its first 0, 1, 2, … numbers and of their squares. */
interface Sums {
  readonly centred: Float64Array
  readonly sums: Float64Array
  readonly squares: Float64Array
}

/** Summed once, so that each lag costs one product a pair. */
function sumsOver(series: readonly number[]): Sums {
  const centred = new Float64Array(series)
  let total = 0
  for (const value of centred) total += value
  const mean = total / series.length
  const [sums, squares] = [new Float64Array(series.length + 1), new Float64Array(series.length + 1)]
  for (let at = 0; at < centred.length; at++) {
    const value = (centred[at] ?? 0) - mean
    centred[at] = value
    sums[at + 1] = (sums[at] ?? 0) + value
    squares[at + 1] = (squares[at] ?? 0) + value * value
  }
  return { centred, sums, squares }
}

/** The correlation of a series with what stands `lag` later in it. */
function withItself({ centred, sums, squares }: Sums, lag: number): number {
  const all = centred.length
  const pairs = all - lag
  const early = sums[pairs] ?? 0
  const late = (sums[all] ?? 0) - (sums[lag] ?? 0)
  const ofEarly = (squares[pairs] ?? 0) - (early * early) / pairs
  const ofLate = (squares[all] ?? 0) - (squares[lag] ?? 0) - (late * late) / pairs
  let ofBoth = (-early * late) / pairs
  for (let at = 0; at < pairs; at++) ofBoth += (centred[at] ?? 0) * (centred[at + lag] ?? 0)
  return correlationOf(ofEarly, ofLate, ofBoth)
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const { ofA, ofB, ofBoth } = moments(a, b)
  return correlationOf(ofA, ofB, ofBoth)
}

function correlationOf(ofA: number, ofB: number, ofBoth: number): number {
  const size = Math.sqrt(Math.max(0, ofA) * Math.max(0, ofB))
  // Numbers that differ by rounding only agree with nothing.
  return size < 1e-12 ? 0 : ofBoth / size
}

/** Sums of squares and products around the means. */
function moments(
  a: readonly number[],
  b: readonly number[],
): { ofA: number; ofB: number; ofBoth: number } {
  const pairs = a.length
  let sumA = 0
  let sumB = 0
  for (let at = 0; at < pairs; at++) {
    sumA += a[at] ?? 0
    sumB += b[at] ?? 0
  }
  const meanA = sumA / pairs
  const meanB = sumB / pairs
  let ofA = 0
  let ofB = 0
  let ofBoth = 0
  for (let at = 0; at < pairs; at++) {
    const fromA = (a[at] ?? 0) - meanA
    const fromB = (b[at] ?? 0) - meanB
    ofA += fromA * fromA
    ofB += fromB * fromB
    ofBoth += fromA * fromB
  }
  return { ofA, ofB, ofBoth }
}
