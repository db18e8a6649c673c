import { extname } from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import type { Cancel, Clock } from '@bonded/core/ports/clock'

/** The module `worker` beside another module: the source, or its compiled form. */
export function workerBeside(module: string): URL {
  return new URL(`./worker${extname(module)}`, module)
}

/** The outcome of a task: the result of the worker, or why there is none. */
export type TaskOutcome<Result> =
  | { readonly outcome: 'responded'; readonly response: Result }
  /** The queue is full. The task was not started. */
  | { readonly outcome: 'full' }
  /** The worker exceeded the deadline and was terminated. */
  | { readonly outcome: 'timed_out' }
  /** The worker crashed, or the pool is closed. */
  | { readonly outcome: 'failed' }

export interface PoolOptions {
  /**
   * The module that a worker runs. It posts one message when it has loaded, and then one for each
   * message that it receives.
   */
  readonly script: URL
  /** The `workerData` of each worker. */
  readonly data?: unknown
  /** The maximum number of workers. A worker starts when a task needs it. */
  readonly size: number
  /** The maximum number of queued tasks. */
  readonly maxWaiting: number
  /** The longest time that a worker may take for one task, once it has loaded. */
  readonly deadlineMs: number
  readonly clock: Clock
}

interface Task<Result> {
  readonly message: unknown
  readonly settle: (outcome: TaskOutcome<Result>) => void
}

/**
 * The longest time that a worker may take to load. A busy machine needs seconds for it, and a
 * worker that is ended meanwhile never gets to its first task.
 */
const LOAD_MS = 60_000

/** Enough for the certificates of all states, and a bound on input that expands. */
const LIMITS: WorkerOptions['resourceLimits'] = {
  maxOldGenerationSizeMb: 96,
  maxYoungGenerationSizeMb: 16,
}

/**
 * Runs tasks on a few worker threads with a bounded queue. The pool terminates a worker that
 * exceeds its deadline and starts a new one for the next task, so no task delays another for
 * longer.
 */
export class WorkerPool<Result> implements AsyncDisposable {
  readonly #options: PoolOptions
  readonly #slots: readonly WorkerSlot<Result>[]
  readonly #waiting: Task<Result>[] = []
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    this.#slots = Array.from(
      { length: options.size },
      () => new WorkerSlot<Result>(options, () => this.#waiting.shift()),
    )
  }

  /** Runs one task. The promise never rejects. */
  run(message: unknown): Promise<TaskOutcome<Result>> {
    const { promise, resolve } = Promise.withResolvers<TaskOutcome<Result>>()
    const task = { message, settle: resolve }
    const free = this.#slots.find((slot) => !slot.busy)
    if (this.#closed) resolve({ outcome: 'failed' })
    else if (free !== undefined) free.take(task)
    else if (this.#waiting.length < this.#options.maxWaiting) this.#waiting.push(task)
    else resolve({ outcome: 'full' })
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const task of this.#waiting.splice(0)) task.settle({ outcome: 'failed' })
    await Promise.all(this.#slots.map((slot) => slot.end()))
  }
}

/** The slot of one worker, which is replaced after a crash or a timeout. */
class WorkerSlot<Result> {
  readonly #options: PoolOptions
  readonly #next: () => Task<Result> | undefined
  #worker: Worker | undefined
  #hasLoaded = false
  #current: { readonly task: Task<Result>; cancel: Cancel } | undefined

  constructor(options: PoolOptions, next: () => Task<Result> | undefined) {
    this.#options = options
    this.#next = next
  }

  get busy(): boolean {
    return this.#current !== undefined
  }

  take(task: Task<Result>): void {
    const worker = (this.#worker ??= this.#start())
    this.#current = { task, cancel: this.#limit(worker) }
    // A busy worker keeps the process alive; an idle one does not.
    worker.ref()
    worker.postMessage(task.message)
  }

  async end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#settle({ outcome: 'failed' })
    await worker?.terminate()
  }

  /** Ends the worker when its time is over: that of its task, or of its start. */
  #limit(worker: Worker): Cancel {
    const { clock, deadlineMs } = this.#options
    const longestMs = this.#hasLoaded ? deadlineMs : LOAD_MS
    return clock.schedule(clock.now() + longestMs, () =>
      this.#drop(worker, { outcome: 'timed_out' }),
    )
  }

  #start(): Worker {
    this.#hasLoaded = false
    const worker = new Worker(this.#options.script, {
      workerData: this.#options.data,
      resourceLimits: LIMITS,
    })
    worker.once('message', () => {
      worker.on('message', (response: Result) => this.#onResponse(worker, response))
      if (worker === this.#worker) this.#onLoaded(worker)
    })
    worker.on('error', () => this.#drop(worker, { outcome: 'failed' }))
    worker.on('exit', () => this.#drop(worker, { outcome: 'failed' }))
    return worker
  }

  #onLoaded(worker: Worker): void {
    this.#hasLoaded = true
    if (this.#current === undefined) return
    this.#current.cancel()
    this.#current.cancel = this.#limit(worker)
  }

  #onResponse(worker: Worker, response: Result): void {
    if (worker !== this.#worker) return
    worker.unref()
    this.#settle({ outcome: 'responded', response })
  }

  /** Terminates a worker and ignores its later messages. */
  #drop(worker: Worker, outcome: TaskOutcome<Result>): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    void worker.terminate()
    this.#settle(outcome)
  }

  #settle(outcome: TaskOutcome<Result>): void {
    const current = this.#current
    this.#current = undefined
    current?.cancel()
    current?.task.settle(outcome)
    const next = current === undefined || this.#current !== undefined ? undefined : this.#next()
    if (next !== undefined) this.take(next)
  }
}
