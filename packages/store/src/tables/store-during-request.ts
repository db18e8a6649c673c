import type { SessionId, Unreadiness } from '@bonded/contract'
import type { Instant } from '@bonded/core/domain/session'
import type { Cause, Store, Unit } from '@bonded/core/ports/store'

/** A store whose writes can name their cause. */
interface WritingStore extends Store {
  write<T>(unit: Unit<T>, cause?: Cause): Promise<T>
}

/** A view of the store that attributes writes to one request. It has no closures, to be cheap. */
export class StoreDuringRequest implements Store {
  readonly #store: WritingStore
  readonly #cause: Cause

  constructor(store: WritingStore, cause: Cause) {
    this.#store = store
    this.#cause = cause
  }

  write<T>(unit: Unit<T>): Promise<T> {
    return this.#store.write(unit, this.#cause)
  }

  read<T>(unit: Unit<T>): Promise<T> {
    return this.#store.read(unit)
  }

  newSessionId(at: Instant, random: Uint8Array): SessionId {
    return this.#store.newSessionId(at, random)
  }

  during(cause: Cause): Store {
    return this.#store.during(cause)
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
