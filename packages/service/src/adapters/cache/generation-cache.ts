/**
 * A bounded map of the entries used last, in two generations. When the newer generation is full, it
 * becomes the older one, and the older one is dropped as a whole. This needs no bookkeeping on a
 * call and no search for entries to drop.
 */
export class GenerationCache<Key, Value> {
  readonly #maxNewer: number
  #newer = new Map<Key, Value>()
  #older = new Map<Key, Value>()

  /** @param maxEntries of both generations together; Infinity where the owner calls `turn` itself */
  constructor(maxEntries: number) {
    this.#maxNewer = maxEntries / 2
  }

  /** The value, which is then among the entries used last. */
  get(key: Key): Value | undefined {
    const value = this.#newer.get(key)
    if (value !== undefined) return value
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  /** The value, without a change of generation. */
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

  /** How many entries the newer generation has. */
  get newerSize(): number {
    return this.#newer.size
  }

  /** How many distinct keys there are. */
  get size(): number {
    return new Set([...this.#newer.keys(), ...this.#older.keys()]).size
  }
}
