import type { SessionId, Unreadiness } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import type { Cause, Store, Unit } from '../../ports/store.ts'

/** How a view runs a unit on the store below. */
export type Through = <T>(store: Store, unit: Unit<T>) => Promise<T>

/** A view of a store whose writes, and optionally reads, go through a function. */
export class StoreView implements Store {
  readonly #store: Store
  readonly #write: Through
  readonly #read: Through

  constructor(store: Store, write: Through, read: Through = (inner, unit) => inner.read(unit)) {
    this.#store = store
    this.#write = write
    this.#read = read
  }

  write<T>(unit: Unit<T>): Promise<T> {
    return this.#write(this.#store, unit)
  }

  read<T>(unit: Unit<T>): Promise<T> {
    return this.#read(this.#store, unit)
  }

  newSessionId(at: Instant, random: Uint8Array): SessionId {
    return this.#store.newSessionId(at, random)
  }

  during(cause: Cause): Store {
    return new StoreView(this.#store.during(cause), this.#write, this.#read)
  }

  health(): Promise<readonly Unreadiness[]> {
    return this.#store.health()
  }

  get hasClock(): boolean {
    return this.#store.hasClock
  }

  externalChanges(): ReturnType<Store['externalChanges']> {
    return this.#store.externalChanges()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }
}
