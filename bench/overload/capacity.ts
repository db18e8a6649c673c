/** Windows are compared with the one before. */
const WINDOW_MS = 4_000
/** Each of so many successive windows differs from the one before by at most this part. */
const STILL_PART = 0.1
const STILL_WINDOWS = 2
const MIN_WINDOWS = 5
/** V8 compiles for thousands of journeys. A busy machine never stands still. */
const MAX_WINDOWS = 15

/** The journeys that the nodes finish for callers that wait for each response. */
export interface Capacity {
  /** Journeys a second, of the last windows. */
  readonly perSecond: number
  /** How many windows it took until the figure stood still. */
  readonly windows: number
  readonly isStill: boolean
}

/**
 * Measures until successive windows agree.
 *
 * @param finishedIn how many journeys finish within so many milliseconds at saturation
 * @param maxWindows measures no more than this many windows, still or not
 */
export async function measureCapacity(
  finishedIn: (ms: number) => Promise<number>,
  maxWindows = MAX_WINDOWS,
): Promise<Capacity> {
  const rates: number[] = []
  let still = 0
  while (rates.length < maxWindows && (rates.length < MIN_WINDOWS || still < STILL_WINDOWS)) {
    const rate = (await finishedIn(WINDOW_MS)) / (WINDOW_MS / 1_000)
    const last = rates.at(-1) ?? 0
    still = Math.abs(rate - last) <= last * STILL_PART ? still + 1 : 0
    rates.push(rate)
  }
  const latest = rates.slice(-STILL_WINDOWS - 1)
  return {
    perSecond: latest.reduce((sum, rate) => sum + rate, 0) / latest.length,
    windows: rates.length,
    isStill: still >= STILL_WINDOWS,
  }
}
