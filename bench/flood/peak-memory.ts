import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const SAMPLE_EVERY_MS = 100
const BYTES_A_KB = 1_024

/**
 * Reads the peak resident memory of another process from the operating system, because a busy
 * process may not answer.
 */
export class PeakMemory implements Disposable {
  readonly #pid: number
  readonly #timer: NodeJS.Timeout
  #peakBytes = 0

  constructor(pid: number) {
    this.#pid = pid
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS)
  }

  /** The peak in bytes since the last reading. */
  take(): number {
    this.#sample()
    const peakBytes = this.#peakBytes
    this.#peakBytes = 0
    return peakBytes
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    this.#peakBytes = Math.max(this.#peakBytes, residentBytes(this.#pid))
  }
}

/** Zero when the process has ended. */
function residentBytes(pid: number): number {
  try {
    const kilobytes =
      process.platform === 'linux'
        ? /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
        : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })
    return Number(kilobytes ?? 0) * BYTES_A_KB
  } catch {
    return 0
  }
}
