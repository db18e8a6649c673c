/**
 * Gathers items into batches. A batch begins at the end of the turn of the event loop in which its
 * first item came, or later if `maxRunning` batches are under way. Items that come meanwhile share
 * the next one.
 */
export class BatchQueue<Item> {
  readonly #maxRunning: number
  readonly #run: () => Promise<void>
  #waiting: Item[] = []
  #running = 0
  #isScheduled = false

  /**
   * @param options.run runs one batch: takes its items from the queue, and never rejects
   * @param options.maxRunning how many batches may be under way
   */
  constructor({ run, maxRunning }: { run: () => Promise<void>; maxRunning: number }) {
    this.#run = run
    this.#maxRunning = maxRunning
  }

  /** How many items no batch has taken yet. */
  get waiting(): number {
    return this.#waiting.length
  }

  add(item: Item): void {
    this.#waiting.push(item)
    this.#schedule()
  }

  /** Takes the oldest items. The others wait for the next batch. */
  take(max = this.#waiting.length): Item[] {
    const taken = this.#waiting.splice(0, max)
    this.#schedule()
    return taken
  }

  /** Puts items back that did not fit into a batch, before all others. */
  putBack(items: readonly Item[]): void {
    this.#waiting.unshift(...items)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#maxRunning || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#running++
      void this.#run().finally(() => {
        this.#running--
        this.#schedule()
      })
    })
  }
}
