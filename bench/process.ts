import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** The message of a server process when it listens. */
export interface Ready {
  readonly port: number
  readonly credential: string
}

/** A folder for one run's database, on the disk of the system's temporary files. */
export function workFolder(): string {
  return mkdtempSync(join(tmpdir(), 'bonded-bench-'))
}

/** CPU time that a server process has used. */
export interface Usage {
  readonly cpuMicros: number
}

/**
 * In a server process: reports that it is ready, responds to usage requests, and exits with its
 * parent.
 */
export function respondToRequests<Message extends Ready>(
  ready: Message,
  { end }: { readonly end?: () => void } = {},
): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMicros: user + system } satisfies Usage)
  })
  process.on('disconnect', () => {
    end?.()
    process.exit()
  })
  process.send?.(ready)
}

/** In the parent: a child process that responds to each message with one message. */
export class Child implements Disposable {
  readonly #process: ChildProcess

  /**
   * @param flags the runtime's flags
   * @param environment variables beside those of this process
   */
  constructor(
    file: string,
    flags: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#process = fork(resolve(import.meta.dirname, file), {
      execArgv: ['--conditions=@bonded/source', ...flags],
      env: { ...process.env, ...environment },
      // Standard output carries the figures, so a child's own output goes to standard error.
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
    const failed = (code: number | null) =>
      reject(new Error(`a benchmark process exited with code ${code}`))
    this.#process.once('exit', failed)
    this.#process.once('message', (message) => {
      this.#process.off('exit', failed)
      done(message as T)
    })
    return promise
  }

  ask<T>(message: object): Promise<T> {
    const response = this.next<T>()
    this.#process.send(message)
    return response
  }

  [Symbol.dispose](): void {
    this.#process.removeAllListeners('exit')
    // A process that has ended has no channel to close.
    if (this.#process.connected) this.#process.disconnect()
  }
}

/**
 * The median of the figures, because a single run on a noisy machine means little. Of an even
 * number it is the mean of the middle two, and of none it is not a number.
 */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const half = sorted.length / 2
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1)
  return (low + high) / 2
}

/** The figure that a share of the figures, such as 0.99, is at most. */
export function percentile(figuresOf: readonly number[], share: number): number {
  const sorted = [...figuresOf].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** With one decimal. */
export function tenths(figure: number): number {
  return Math.round(figure * 10) / 10
}

/** Milliseconds on a clock that all processes of a machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
