import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** What a server process says when it listens. */
export interface Ready {
  readonly port: number
  readonly credential: string
}

/** A folder for one run's database, on the disk that the system's temporary files are on. */
export function workFolder(): string {
  return mkdtempSync(join(tmpdir(), 'bonded-bench-'))
}

/** What a server process has used so far, and what it holds. */
export interface Usage {
  readonly cpuMicros: number
  readonly rssBytes: number
  /** In use on V8's heap and beside it. */
  readonly heapBytes: number
}

/** What a server process may be asked. */
export interface UsageQuestion {
  /** Whether garbage is collected first; for that the process needs `--expose-gc`. */
  readonly collect?: boolean
}

/** In a server process: says it is ready, tells what it uses whenever asked, and ends when its parent does. */
export function answerQuestions(ready: Ready, end: () => void): void {
  process.on('message', ({ collect = false }: UsageQuestion) => {
    if (collect) globalThis.gc?.()
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, external } = process.memoryUsage()
    process.send?.({
      cpuMicros: user + system,
      rssBytes: rss,
      heapBytes: heapUsed + external,
    } satisfies Usage)
  })
  process.on('disconnect', () => {
    end()
    process.exit()
  })
  process.send?.(ready)
}

/** In the parent: a child process that answers each message with one. */
export class Child implements Disposable {
  readonly #process: ChildProcess

  /** @param flags what the runtime is started with; the service's are those it is shipped with */
  constructor(file: string, flags: readonly string[] = []) {
    this.#process = fork(resolve(import.meta.dirname, file), {
      execArgv: ['--conditions=@bonded/source', ...flags],
      // Standard output is for the figures; what a child has to say goes beside them.
      stdio: ['ignore', 2, 2, 'ipc'],
    })
  }

  /** The id of the process. */
  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<void> {
    return new Promise((resolve) => this.#process.once('exit', () => resolve()))
  }

  next<T>(): Promise<T> {
    const { promise, resolve: done, reject } = Promise.withResolvers<T>()
    const failed = (code: number | null) => reject(new Error(`a bench process ended with ${code}`))
    this.#process.once('exit', failed)
    this.#process.once('message', (message) => {
      this.#process.off('exit', failed)
      done(message as T)
    })
    return promise
  }

  ask<T>(message: object): Promise<T> {
    const answer = this.next<T>()
    this.#process.send(message)
    return answer
  }

  [Symbol.dispose](): void {
    this.#process.removeAllListeners('exit')
    // A process that has ended has no channel to close.
    if (this.#process.connected) this.#process.disconnect()
  }
}

/** The middle of the figures: what a noisy machine is quoted by. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Of a clock that all processes of a machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
