import type { Attempt, AttemptResult, Verdict } from '../domain/webhooks.ts'
import type { Tables } from '../ports/store.ts'
import type { WebhookDelivery } from '../ports/tables/webhook-table.ts'
import type { Work } from '../ports/work.ts'
import type { Service } from './service.ts'

/** An attempt, and what follows from it. */
export interface Attempted {
  readonly delivery: WebhookDelivery
  readonly result: AttemptResult
  readonly line: Attempt
  readonly verdict: Verdict
}

/**
 * Stores the results of a batch. The first one is stored at once; those that arrive while it is
 * written share the next unit. So a batch costs a few transactions, and a receiver that is slow
 * with one delivery delays the result of no other.
 */
export class ResultRecorder {
  readonly #store: Service['store']
  readonly #recorded: (attempted: Attempted) => void
  #waiting: Attempted[] = []
  #last: ((tables: Tables) => Work<void>) | undefined
  #writing: Promise<void> | undefined

  /** @param recorded called with each result that was stored */
  constructor(store: Service['store'], recorded: (attempted: Attempted) => void) {
    this.#store = store
    this.#recorded = recorded
  }

  add(attempted: Attempted): void {
    this.#waiting.push(attempted)
    this.#begin()
    // `end` reports it. What was not stored is sent again when its claim ends.
    this.#writing?.catch(() => {})
  }

  /** Stores the rest, and in the same unit what follows from all of them. */
  async end(last?: (tables: Tables) => Work<void>): Promise<void> {
    this.#last = last
    this.#begin()
    await this.#writing
  }

  #begin(): void {
    this.#writing ??= this.#write().then(() => {
      this.#writing = undefined
    })
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0 || this.#last !== undefined) {
      const [attempts, last] = [this.#waiting.splice(0), this.#last]
      this.#last = undefined
      await this.#store.write(function* (tables) {
        for (const { delivery, line, verdict } of attempts)
          yield* tables.webhooks.record(delivery, line, verdict)
        if (last !== undefined) yield* last(tables)
      })
      for (const attempted of attempts) this.#recorded(attempted)
    }
  }
}
