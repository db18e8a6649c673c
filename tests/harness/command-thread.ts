import assert from 'node:assert/strict'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'

export interface ToRun {
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface ThreadData {
  readonly port: MessagePort
  /** Its only element becomes 1 when a command has ended. */
  readonly ended: Int32Array
}

const TIMEOUT_MS = 120_000

let thread: { readonly port: MessagePort; readonly ended: Int32Array } | undefined

/**
 * Runs a command of `bonded` to its end in a thread, which has loaded the modules of the commands
 * before it. The thread has an environment and an event loop of its own. Like a process, a command
 * ends when nothing keeps its event loop alive.
 */
export function runInThread(toRun: ToRun): Ran {
  const { port, ended } = (thread ??= startThread())
  Atomics.store(ended, 0, 0)
  port.postMessage(toRun)
  assert.notEqual(Atomics.wait(ended, 0, 0, TIMEOUT_MS), 'timed-out', toRun.words.join(' '))
  return receiveMessageOnPort(port)?.message as Ran
}

function startThread() {
  const { port1: port, port2 } = new MessageChannel()
  const ended = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  new Worker(new URL('command-worker.ts', import.meta.url), {
    workerData: { port: port2, ended } satisfies ThreadData,
    transferList: [port2],
    execArgv: ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning'],
  }).unref()
  port.unref()
  return { port, ended }
}
