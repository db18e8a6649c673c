import type { RequestId, Unreadiness } from '@bonded/contract'
import type { Store, Unit } from '../../ports/store.ts'

/** A store whose writes can name the request that caused them. */
interface WritingStore extends Store {
  write<T>(unit: Unit<T>, requestId?: RequestId | null): Promise<T>
}

/** A view of the store that attributes writes to one request. It has no closures, to be cheap. */
export class StoreDuringRequest implements Store {
  readonly #store: WritingStore
  readonly #requestId: RequestId

  constructor(store: WritingStore, requestId: RequestId) {
    this.#store = store
    this.#requestId = requestId
  }

  write<T>(unit: Unit<T>): Promise<T> {
    return this.#store.write(unit, this.#requestId)
  }

  read<T>(unit: Unit<T>): Promise<T> {
    return this.#store.read(unit)
  }

  during(requestId: RequestId): Store {
    return this.#store.during(requestId)
  }

  health(): Promise<readonly Unreadiness[]> {
    return this.#store.health()
  }

  externalChanges(): ReturnType<Store['externalChanges']> {
    return this.#store.externalChanges()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }
}
