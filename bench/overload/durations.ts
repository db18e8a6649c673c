/** Durations are counted in tenths of a millisecond. */
const STEPS_PER_MS = 10
/** Longer durations count as this one. */
const MAX_MS = 10_000

/** Durations in memory of a constant size, so that a measured process does not grow by them. */
export class Durations {
  readonly #counts = new Uint32Array(MAX_MS * STEPS_PER_MS + 1)

  add(ms: number): void {
    const step = Math.min(Math.round(ms * STEPS_PER_MS), this.#counts.length - 1)
    this.#counts[step] = (this.#counts[step] ?? 0) + 1
  }

  /** Returns how often each duration was added, in milliseconds and ascending, and begins anew. */
  take(): CountedMs[] {
    const taken: CountedMs[] = []
    for (const [step, count] of this.#counts.entries())
      if (count > 0) taken.push([step / STEPS_PER_MS, count])
    this.#counts.fill(0)
    return taken
  }
}

/** A duration, and how often it was measured. */
export type CountedMs = readonly [ms: number, count: number]

/** The percentiles of all durations, in milliseconds. NaN if there are none. */
export function percentilesOf(durations: readonly CountedMs[]) {
  const ascending = durations.toSorted(([one], [other]) => one - other)
  const count = ascending.reduce((sum, [, times]) => sum + times, 0)
  const at = (share: number) => {
    let before = 0
    return ascending.find(([, times]) => (before += times) > share * (count - 1))?.[0] ?? Number.NaN
  }
  return { count, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: ascending.at(-1)?.[0] ?? 0 }
}
