import { Worker, type WorkerOptions } from 'node:worker_threads'
import type { Cancel, Clock } from '../../ports/clock.ts'

/** What came of a question: the answer, or why there is none. */
export type Asked<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer }
  /** Too many wait already: nothing was begun. */
  | { readonly outcome: 'full' }
  /** The worker took longer than it may, and was ended. */
  | { readonly outcome: 'timed_out' }
  /** The worker broke. */
  | { readonly outcome: 'failed' }

export interface PoolOptions {
  /** The module that a worker runs. It answers each message with one message. */
  readonly script: URL
  /** Given to each worker when it starts. */
  readonly data?: unknown
  /** Workers at once. None is started before it is needed. */
  readonly size: number
  /** Questions that may wait while all are busy. */
  readonly maxWaiting: number
  /** How long a worker may take for one. */
  readonly deadlineMs: number
  readonly clock: Clock
}

interface Question<Answer> {
  readonly message: unknown
  readonly settle: (asked: Asked<Answer>) => void
}

/** Enough for the certificates of all states, and a bound for whoever sends something that grows. */
const LIMITS: WorkerOptions['resourceLimits'] = {
  maxOldGenerationSizeMb: 96,
  maxYoungGenerationSizeMb: 16,
}

/**
 * Workers that answer questions off this thread: few, with a bounded queue. One that hangs is ended at its deadline and
 * replaced when the next question comes; no question can hold up another one for longer.
 */
export class WorkerPool<Answer> implements AsyncDisposable {
  readonly #options: PoolOptions
  readonly #seats: readonly Seat<Answer>[]
  readonly #waiting: Question<Answer>[] = []
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#seats = Array.from(
      { length: options.size },
      () => new Seat<Answer>(options, () => this.#waiting.shift()),
    )
  }

  /** Never rejects. */
  ask(message: unknown): Promise<Asked<Answer>> {
    const { promise, resolve } = Promise.withResolvers<Asked<Answer>>()
    const question = { message, settle: resolve }
    const free = this.#seats.find((seat) => !seat.busy)
    if (this.#closed) resolve({ outcome: 'failed' })
    else if (free !== undefined) free.take(question)
    else if (this.#waiting.length < this.#options.maxWaiting) this.#waiting.push(question)
    else resolve({ outcome: 'full' })
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const question of this.#waiting.splice(0)) question.settle({ outcome: 'failed' })
    await Promise.all(this.#seats.map((seat) => seat.end()))
  }
}

/** The place of one worker. It outlives those that sit there. */
class Seat<Answer> {
  readonly #options: PoolOptions
  readonly #next: () => Question<Answer> | undefined
  #worker: Worker | undefined
  #current: { readonly question: Question<Answer>; readonly cancel: Cancel } | undefined

  constructor(options: PoolOptions, next: () => Question<Answer> | undefined) {
    this.#options = options
    this.#next = next
  }

  get busy(): boolean {
    return this.#current !== undefined
  }

  take(question: Question<Answer>): void {
    const { clock, deadlineMs } = this.#options
    const worker = (this.#worker ??= this.#start())
    this.#current = {
      question,
      cancel: clock.schedule(clock.now() + deadlineMs, () =>
        this.#drop(worker, { outcome: 'timed_out' }),
      ),
    }
    // While it works it keeps the process alive; while it waits it does not.
    worker.ref()
    worker.postMessage(question.message)
  }

  async end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#settle({ outcome: 'failed' })
    await worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(this.#options.script, {
      workerData: this.#options.data,
      resourceLimits: LIMITS,
    })
    worker.on('message', (answer: Answer) => {
      if (worker !== this.#worker) return
      worker.unref()
      this.#settle({ outcome: 'answered', answer })
    })
    worker.on('error', () => this.#drop(worker, { outcome: 'failed' }))
    worker.on('exit', () => this.#drop(worker, { outcome: 'failed' }))
    return worker
  }

  /** Ends a worker. What it says after that is of nobody's interest. */
  #drop(worker: Worker, asked: Asked<Answer>): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    void worker.terminate()
    this.#settle(asked)
  }

  #settle(asked: Asked<Answer>): void {
    const current = this.#current
    this.#current = undefined
    current?.cancel()
    current?.question.settle(asked)
    const next = current === undefined || this.#current !== undefined ? undefined : this.#next()
    if (next !== undefined) this.take(next)
  }
}
