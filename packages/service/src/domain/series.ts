/** Statistics of short series of numbers. An empty or constant series has 0 everywhere. */

/** The difference of each number to the next one. */
export function differences(series: readonly number[]): readonly number[] {
  return series.slice(1).map((value, index) => value - (series[index] ?? 0))
}

/** The standard deviation. */
export function stddev(series: readonly number[]): number {
  return series.length === 0 ? 0 : Math.sqrt(moments(series, series).ofA / series.length)
}

/** The minimum lag. Walking repeats in shorter periods. */
const MIN_LAG = 3
/** The minimum number of pairs. With fewer, a high correlation is chance. */
const MIN_PAIRS = 20

/**
 * The strongest correlation of both series with themselves at any lag from `MIN_LAG` on; -1 if the
 * series are too short.
 */
export function autocorrelation(a: readonly number[], b: readonly number[]): number {
  const [overA, overB] = [sumsOver(a), sumsOver(b)]
  let strongest = -1
  for (let lag = MIN_LAG; a.length - lag >= MIN_PAIRS && lag <= a.length / 2; lag++) {
    strongest = Math.max(
      strongest,
      (laggedCorrelation(overA, lag) + laggedCorrelation(overB, lag)) / 2,
    )
  }
  return strongest
}

/** A centered series with the prefix sums of its values and of their squares. */
interface Sums {
  readonly centered: Float64Array
  readonly sums: Float64Array
  readonly squares: Float64Array
}

/** Computes the sums once, so that each lag costs one product a pair. */
function sumsOver(series: readonly number[]): Sums {
  const centered = new Float64Array(series)
  let total = 0
  for (const value of centered) total += value
  const mean = total / series.length
  const [sums, squares] = [new Float64Array(series.length + 1), new Float64Array(series.length + 1)]
  for (let index = 0; index < centered.length; index++) {
    const value = (centered[index] ?? 0) - mean
    centered[index] = value
    sums[index + 1] = (sums[index] ?? 0) + value
    squares[index + 1] = (squares[index] ?? 0) + value * value
  }
  return { centered, sums, squares }
}

/** The correlation of a series with itself, shifted by `lag` values. */
function laggedCorrelation({ centered, sums, squares }: Sums, lag: number): number {
  const all = centered.length
  const pairs = all - lag
  const early = sums[pairs] ?? 0
  const late = (sums[all] ?? 0) - (sums[lag] ?? 0)
  const ofEarly = (squares[pairs] ?? 0) - (early * early) / pairs
  const ofLate = (squares[all] ?? 0) - (squares[lag] ?? 0) - (late * late) / pairs
  let ofBoth = (-early * late) / pairs
  for (let index = 0; index < pairs; index++)
    ofBoth += (centered[index] ?? 0) * (centered[index + lag] ?? 0)
  return correlationOf(ofEarly, ofLate, ofBoth)
}

/** The correlation of two series of the same length, -1 to 1. */
export function correlation(a: readonly number[], b: readonly number[]): number {
  const { ofA, ofB, ofBoth } = moments(a, b)
  return correlationOf(ofA, ofB, ofBoth)
}

function correlationOf(ofA: number, ofB: number, ofBoth: number): number {
  const size = Math.sqrt(Math.max(0, ofA) * Math.max(0, ofB))
  // If the numbers differ by rounding only, the correlation is 0.
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
  for (let index = 0; index < pairs; index++) {
    sumA += a[index] ?? 0
    sumB += b[index] ?? 0
  }
  const meanA = sumA / pairs
  const meanB = sumB / pairs
  let ofA = 0
  let ofB = 0
  let ofBoth = 0
  for (let index = 0; index < pairs; index++) {
    const deviationA = (a[index] ?? 0) - meanA
    const deviationB = (b[index] ?? 0) - meanB
    ofA += deviationA * deviationA
    ofB += deviationB * deviationB
    ofBoth += deviationA * deviationB
  }
  return { ofA, ofB, ofBoth }
}
