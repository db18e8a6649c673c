/**
 * Statistics of the first `count` numbers of a series. The arrays are scratch space, which may be
 * longer. An empty or constant series has 0 everywhere.
 */

/** The standard deviation. */
export function stddev(series: Float64Array, count: number): number {
  if (count === 0) return 0
  const mean = sumOf(series, count) / count
  let squares = 0
  for (let index = 0; index < count; index++) {
    const deviation = (series[index] as number) - mean
    squares += deviation * deviation
  }
  return Math.sqrt(squares / count)
}

/** The correlation of two series, -1 to 1. */
export function correlation(a: Float64Array, b: Float64Array, count: number): number {
  const meanA = sumOf(a, count) / count
  const meanB = sumOf(b, count) / count
  let ofA = 0
  let ofB = 0
  let ofBoth = 0
  for (let index = 0; index < count; index++) {
    const deviationA = (a[index] as number) - meanA
    const deviationB = (b[index] as number) - meanB
    ofA += deviationA * deviationA
    ofB += deviationB * deviationB
    ofBoth += deviationA * deviationB
  }
  return correlationOf(ofA, ofB, ofBoth)
}

function sumOf(series: Float64Array, count: number): number {
  let sum = 0
  for (let index = 0; index < count; index++) sum += series[index] as number
  return sum
}

/** The minimum lag. Walking repeats in shorter periods. */
const MIN_LAG = 3
/** The minimum number of pairs. With fewer, a high correlation is chance. */
const MIN_PAIRS = 20

/**
 * The strongest correlation of both series with themselves at any lag from `MIN_LAG` on; -1 if the
 * series are too short.
 */
export function autocorrelation(a: Float64Array, b: Float64Array, count: number): number {
  sumUp(a, count, sumsOfA)
  sumUp(b, count, sumsOfB)
  let strongest = -1
  for (let lag = MIN_LAG; count - lag >= MIN_PAIRS && lag <= count / 2; lag++) {
    strongest = Math.max(
      strongest,
      (laggedCorrelation(sumsOfA, count, lag) + laggedCorrelation(sumsOfB, count, lag)) / 2,
    )
  }
  return strongest
}

/** A centered series with the prefix sums of its values and of their squares. */
interface Sums {
  centered: Float64Array
  sums: Float64Array
  squares: Float64Array
}

/** Scratch space, which grows to the longest series. */
const sumsOfA: Sums = sumsFor(64)
const sumsOfB: Sums = sumsFor(64)

function sumsFor(length: number): Sums {
  return {
    centered: new Float64Array(length),
    sums: new Float64Array(length + 1),
    squares: new Float64Array(length + 1),
  }
}

/** Computes the sums once, so that each lag costs one product a pair. */
function sumUp(series: Float64Array, count: number, into: Sums): void {
  if (into.centered.length < count) Object.assign(into, sumsFor(count))
  const { centered, sums, squares } = into
  const mean = sumOf(series, count) / count
  // The first prefix is empty: its sums stay 0.
  for (let index = 0; index < count; index++) {
    const value = (series[index] as number) - mean
    centered[index] = value
    sums[index + 1] = (sums[index] as number) + value
    squares[index + 1] = (squares[index] as number) + value * value
  }
}

/** The correlation of a series with itself, shifted by `lag` values. */
function laggedCorrelation({ centered, sums, squares }: Sums, all: number, lag: number): number {
  const pairs = all - lag
  const early = sums[pairs] as number
  const late = (sums[all] as number) - (sums[lag] as number)
  const ofEarly = (squares[pairs] as number) - (early * early) / pairs
  const ofLate = (squares[all] as number) - (squares[lag] as number) - (late * late) / pairs
  let ofBoth = (-early * late) / pairs
  for (let index = 0; index < pairs; index++)
    ofBoth += (centered[index] as number) * (centered[index + lag] as number)
  return correlationOf(ofEarly, ofLate, ofBoth)
}

function correlationOf(ofA: number, ofB: number, ofBoth: number): number {
  const size = Math.sqrt(Math.max(0, ofA) * Math.max(0, ofB))
  // If the numbers differ by rounding only, the correlation is 0.
  return size < 1e-12 ? 0 : ofBoth / size
}
