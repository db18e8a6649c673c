import type { RunningService } from '@bonded/server/compose'
import type { Service } from '@bonded/core/operations/service'

/** A service that the demo stops and starts again on the same database. */
export class RestartableService implements AsyncDisposable {
  readonly #start: () => Promise<RunningService>
  #running: RunningService | undefined
  /** Changes wait for one another, because only one service may use the database. */
  #queue: Promise<void> = Promise.resolve()

  private constructor(start: () => Promise<RunningService>, running: RunningService) {
    this.#start = start
    this.#running = running
  }

  /** @throws what `start` throws */
  static async start(start: () => Promise<RunningService>): Promise<RestartableService> {
    return new RestartableService(start, await start())
  }

  /** Undefined while the service is stopped. */
  get service(): Service | undefined {
    return this.#running?.service
  }

  /** The port that it listens on; undefined while it is stopped. */
  get port(): number | undefined {
    return this.#running?.port
  }

  /** Stops the service, as a deployment does: open requests are completed first. */
  stop(): Promise<void> {
    return this.#enqueue(async () => {
      const running = this.#running
      this.#running = undefined
      await running?.[Symbol.asyncDispose]()
    })
  }

  /** @throws what the first start may throw */
  restart(): Promise<void> {
    return this.#enqueue(async () => {
      this.#running ??= await this.#start()
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #enqueue(change: () => Promise<void>): Promise<void> {
    const turn = this.#queue.then(change)
    this.#queue = turn.catch(() => {})
    return turn
  }
}
