/**
 * A bounded map of recently used entries, in two generations. When the newer generation is full, it
 * becomes the older one, and the cache drops the previous older one as a whole. A call therefore
 * needs no bookkeeping and no search for entries to drop.
 */
export class GenerationCache<Key, Value> {
  readonly #maxNewer: number
  #newer = new Map<Key, Value>()
  #older = new Map<Key, Value>()

  /**
   * @param maxEntries entries in both generations together; Infinity where the owner calls `turn`
   */
  constructor(maxEntries: number) {
    this.#maxNewer = maxEntries / 2
  }

  /** Returns the value and moves it to the newer generation. */
  get(key: Key): Value | undefined {
    const value = this.#newer.get(key)
    if (value !== undefined) return value
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  /** Returns the value and leaves it in its generation. */
  peek(key: Key): Value | undefined {
    return this.#newer.get(key) ?? this.#older.get(key)
  }

  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#maxNewer) this.turn()
    this.#newer.set(key, value)
  }

  delete(key: Key): void {
    this.#newer.delete(key)
    this.#older.delete(key)
  }

  /** Drops the older generation and begins a newer one. */
  turn(): void {
    this.#older = this.#newer
    this.#newer = new Map()
  }

  clear(): void {
    this.#newer.clear()
    this.#older.clear()
  }

  /** The number of entries in the newer generation. */
  get newerSize(): number {
    return this.#newer.size
  }

  /** The number of distinct keys in both generations. */
  get size(): number {
    return new Set([...this.#newer.keys(), ...this.#older.keys()]).size
  }
}
