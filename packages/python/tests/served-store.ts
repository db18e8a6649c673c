import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type {
  ApprovalState,
  ApprovalStore,
  StoredApproval,
} from '../../integrator/src/approval/approval-store.ts'

const PACKAGE = resolve(import.meta.dirname, '..')

interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

/** A process of Python whose stores are called from here. */
export class StoreProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (reply: Reply) => void>()
  #calls = 0

  constructor(python: string) {
    this.#child = spawn(python, ['-B', join(import.meta.dirname, 'serve_store.py')], {
      env: { ...process.env, PYTHONPATH: join(PACKAGE, 'src') },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const { stdout } = this.#child
    if (stdout === null) throw new Error('the process has no output')
    createInterface(stdout).on('line', (line) => {
      const reply = JSON.parse(line) as Reply
      this.#waiting.get(reply.id)?.(reply)
      this.#waiting.delete(reply.id)
    })
    this.#child.on('close', () => {
      for (const [id, answer] of this.#waiting) answer({ id, error: 'the process has ended' })
    })
  }

  /** Opens a store of a kind of `serve_store.py`. */
  async open(kind: string, ...given: readonly string[]): Promise<ApprovalStore> {
    const store = (await this.#call('open', 0, [kind, ...given])) as number
    const call = (method: string, ...args: readonly unknown[]) => this.#call(method, store, args)
    type Rows = readonly StoredApproval[]
    return {
      put: async (row) => void (await call('put', row)),
      find: async (id) => ((await call('find', id)) ?? undefined) as StoredApproval | undefined,
      withLookup: async (lookup) => (await call('with_lookup', lookup)) as Rows,
      move: async (id: string, from: ApprovalState, to: ApprovalState, at: number) =>
        (await call('move', id, from, to, at)) as boolean,
      unfinished: async () => (await call('unfinished')) as Rows,
      remove: async (id) => void (await call('remove', id)),
      removeExpired: async (before) => (await call('remove_expired', before)) as number,
    }
  }

  async #call(method: string, store: number, args: readonly unknown[]): Promise<unknown> {
    const id = this.#calls++
    const replied = new Promise<Reply>((answer) => this.#waiting.set(id, answer))
    this.#child.stdin?.write(`${JSON.stringify({ id, method, store, arguments: args })}\n`)
    const { result, error } = await replied
    if (error !== undefined) throw new Error(error)
    return result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'close')
    this.#child.stdin?.end()
    await ended
  }
}
