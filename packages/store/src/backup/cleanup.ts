const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const open: Cleanup[] = []

/**
 * What to do when a function ends, or when a signal ends the process, which disposes nothing. What
 * a command would leave can be a copy of the whole database.
 */
export class Cleanup implements Disposable {
  readonly #steps: (() => void)[] = []

  constructor() {
    if (open.length === 0) for (const signal of SIGNALS) process.on(signal, end)
    open.push(this)
  }

  /** The latest step runs first. */
  add(step: () => void): void {
    this.#steps.unshift(step)
  }

  [Symbol.dispose](): void {
    open.splice(open.indexOf(this), 1)
    if (open.length === 0) for (const signal of SIGNALS) process.off(signal, end)
    for (const step of this.#steps) step()
  }
}

/** The latest first: a program must end before the file that it writes is deleted. */
function end(signal: NodeJS.Signals): void {
  try {
    for (const cleanup of open.toReversed()) cleanup[Symbol.dispose]()
  } finally {
    // Without a listener, the signal ends the process, and its parent sees which one it was.
    for (const each of SIGNALS) process.off(each, end)
    process.kill(process.pid, signal)
  }
}
