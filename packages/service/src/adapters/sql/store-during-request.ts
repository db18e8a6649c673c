import type { RequestId, Unreadiness } from '@bonded/contract'
import type { Store, Unit } from '../../ports/store.ts'

/** A store that can be told for which request it writes. */
interface WritingStore extends Store {
  write<T>(unit: Unit<T>, requestId?: RequestId | null): Promise<T>
}

/** The store as one request sees it. One is made for every request, so it holds two references and no closure. */
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
