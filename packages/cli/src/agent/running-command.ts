import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { NotStarted } from '@bonded/integrator/approval'
import type { DescribedCommand } from './described-command.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof SIGNALS)[number]

/** What the signals of this process do: before its command starts they stop it, then reach it. */
export class RunningCommand {
  readonly #stop = new AbortController()
  /** The first one that came before the command started. */
  received: Signal | undefined
  #child: ChildProcess | undefined

  constructor() {
    for (const signal of SIGNALS) process.on(signal, () => this.#receive(signal))
  }

  /** Aborts when a signal comes before the command has started. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /**
   * Runs the command in a process group of its own, so that a signal of the terminal reaches it
   * once, and without standard input. Resolves to its exit code.
   *
   * @throws {NotStarted} if the system does not start it
   */
  async run({ command, environment, folder, program }: DescribedCommand): Promise<number> {
    const [argv0 = '', ...words] = command
    let child
    try {
      this.stopped.throwIfAborted()
      const own = { argv0, cwd: folder, detached: true }
      child = spawn(program.file, words, {
        ...own,
        env: environment,
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      this.#child = child
      await once(child, 'spawn')
    } catch (cause) {
      const message = `The system did not start ${program.file}: ${(cause as Error).message}.`
      throw new NotStarted(message, { cause })
    }
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return code ?? exitCodeOfSignal(signal ?? 'SIGKILL')
  }

  #receive(signal: Signal): void {
    if (this.#child !== undefined) return sendToGroup(this.#child, signal)
    // The second one does not wait for the service.
    if (this.received !== undefined) process.exit(exitCodeOfSignal(signal))
    this.received = signal
    this.#stop.abort()
  }
}

/** As a shell has it. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

function sendToGroup({ pid }: ChildProcess, signal: Signal): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended, and its exit is about to be read.
  }
}
