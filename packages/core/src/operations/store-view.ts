import type { SessionId, Unreadiness } from '@bonded/contract'
import type { Instant } from '../domain/session.ts'
import type { Cause, Store, Unit } from '../ports/store.ts'

/** How a view writes: runs the unit on the store below, with what belongs to it. */
export type WriteThrough = <T>(store: Store, unit: Unit<T>) => Promise<T>

/** A view of a store whose writes go through a function. */
export class StoreView implements Store {
  readonly #store: Store
  readonly #write: WriteThrough

  constructor(store: Store, write: WriteThrough) {
    this.#store = store
    this.#write = write
  }

  write<T>(unit: Unit<T>): Promise<T> {
    return this.#write(this.#store, unit)
  }

  read<T>(unit: Unit<T>): Promise<T> {
    return this.#store.read(unit)
  }

  newSessionId(at: Instant, random: Uint8Array): SessionId {
    return this.#store.newSessionId(at, random)
  }

  during(cause: Cause): Store {
    return new StoreView(this.#store.during(cause), this.#write)
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
