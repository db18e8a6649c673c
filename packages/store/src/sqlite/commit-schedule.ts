/**
 * How far apart commits begin under load. Each commit costs an fsync, so several writes that share
 * one are cheaper. The wait is shorter than a round trip over the internet.
 */
export const COMMIT_INTERVAL_MS = 3

/** Average units per commit from which further writes are worth waiting for. */
const SEVERAL_UNITS = 1.5
/** The share of the last commit in the average: a burst counts for about three commits. */
const LAST_COMMIT_SHARE = 0.5

/**
 * Decides when the store commits the writes of its group. A lone writer's commit begins in the same
 * turn of the event loop. Only while the last commits carried several units does a commit begin at
 * the earliest 3 ms after the one before.
 */
export class CommitSchedule {
  #averageUnits = 1
  #startedMs = Number.NEGATIVE_INFINITY

  /** @returns how many milliseconds a commit waits after its first write; 0 for none */
  delayMs(nowMs: number): number {
    if (this.#averageUnits < SEVERAL_UNITS) return 0
    return Math.max(0, this.#startedMs + COMMIT_INTERVAL_MS - nowMs)
  }

  /** Records that a commit of this many units begins. */
  begin(units: number, nowMs: number): void {
    this.#averageUnits += (units - this.#averageUnits) * LAST_COMMIT_SHARE
    this.#startedMs = nowMs
  }
}
