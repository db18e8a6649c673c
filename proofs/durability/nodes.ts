import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { programEnvironment } from '@bonded/server/adapters/programs/program'
import { RUNTIME_FLAGS } from '../../packages/service/bin/runtime-flags.js'

const SERVICE = resolve(import.meta.dirname, '../../packages/service/src/main.ts')

/** How long a node may take to start, or to become ready again after its database was stopped. */
const READY_WITHIN_MS = 60_000
const POLL_MS = 50
/** The end of a node's log, which explains why it did not start. */
const KEPT_OUTPUT = 4_000

/** A `bonded serve` process on a scratch database. */
export interface ServiceNode {
  readonly origin: string
  /** Ends it as a power cut would, without a chance to react. */
  kill(): Promise<void>
}

/** Starts a node with these settings and no other. It listens on a free port of 127.0.0.1. */
export async function startNode(
  settings: Readonly<Record<`BONDED_${string}`, string>>,
): Promise<ServiceNode> {
  const flags = [...process.execArgv, ...RUNTIME_FLAGS]
  const child = spawn(process.execPath, [...flags, SERVICE, 'serve', '--json'], {
    env: { ...programEnvironment(), ...settings, BONDED_PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const port = await portOf(child)
  // Unread pipes would block it.
  child.stderr?.resume()
  child.stdout?.resume()
  return {
    origin: `http://127.0.0.1:${port}`,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`a node ended by itself, with code ${child.exitCode}`)
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** Waits until a node reports that it is ready. */
export async function untilReady({ origin }: ServiceNode): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS
  for (;;) {
    const response = await fetch(`${origin}/health/ready`).catch(() => undefined)
    if (response?.ok === true) return
    if (performance.now() > deadline)
      throw new Error(`a node is not ready again: ${response?.status} ${await response?.text()}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let output = ''
  const read = (chunk: unknown) => {
    output = (output + String(chunk)).slice(-KEPT_OUTPUT)
    const port = /"ready":.*"port":(\d+)/.exec(output)?.[1]
    if (port !== undefined) resolve(Number(port))
  }
  const fail = () => reject(new Error(`a node did not start: ${output}`))
  child.stdout?.on('data', read)
  child.stderr?.on('data', read)
  child.once('exit', fail)
  try {
    return await promise
  } finally {
    child.stdout?.off('data', read)
    child.stderr?.off('data', read)
    child.off('exit', fail)
  }
}
