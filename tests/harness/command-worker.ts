import { workerData } from 'node:worker_threads'
import { runCommand } from '../../packages/service/src/run-command.ts'
import type { ThreadData, ToRun } from './command-thread.ts'

/** Runs one command after another for `command-thread.ts`, each as in a process of its own. */
const { port, ended } = workerData as ThreadData
/** What a process ends with whose program waits for what nothing can resolve. */
const UNSETTLED = 13

let printed = { stdout: '', stderr: '' }
for (const stream of ['stdout', 'stderr'] as const)
  process[stream].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    printed[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const onWritten = rest.at(-1)
    if (typeof onWritten === 'function') queueMicrotask(() => onWritten())
    return true
  }

port.on('message', ({ words, env }: ToRun) => {
  // Until nothing but this port keeps the thread alive, which is when a process ends.
  port.unref()
  printed = { stdout: '', stderr: '' }
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name)
  Object.assign(process.env, env)
  process.exitCode = UNSETTLED
  void runCommand(words).then(() => {
    if (process.exitCode === UNSETTLED) process.exitCode = 0
  })
})

process.on('beforeExit', (code) => {
  process.exitCode = 0
  port.ref()
  port.postMessage({ status: code, ...printed })
  Atomics.store(ended, 0, 1)
  Atomics.notify(ended, 0)
})
