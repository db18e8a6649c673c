import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { programEnvironment } from '@bonded/server/adapters/programs/program'
import type { Answer, BackendOptions, Task, Work } from './quorum-backend.ts'

const PROGRAM = resolve(import.meta.dirname, 'quorum-backend.ts')

/** A backend that can be killed at any moment. Its next task starts it again. */
export class Backend {
  kills = 0
  readonly #options: BackendOptions
  readonly #nodes: () => readonly string[]
  readonly #waiting = new Map<number, (answer: string) => void>()
  #child: Promise<ChildProcess> | undefined
  #tasks = 0
  #hasEnded = false

  /** @param nodes returns the origins of the nodes of this moment */
  constructor(options: BackendOptions, nodes: () => readonly string[]) {
    this.#options = options
    this.#nodes = nodes
  }

  /** What the backend answers, or `retry` if it was killed meanwhile. Rejects once it has ended. */
  async perform(work: Work): Promise<string> {
    if (this.#hasEnded) throw new Error('the backend has ended')
    const child = await (this.#child ??= this.#start())
    const number = ++this.#tasks
    const { promise, resolve: answer } = Promise.withResolvers<string>()
    this.#waiting.set(number, answer)
    const task: Task = { ...work, number, nodes: this.#nodes() }
    if (!child.connected) answer('retry')
    else child.send(task, (failure) => failure && answer('retry'))
    return promise
  }

  /** Ends it as a power cut would, if it runs. */
  async kill(): Promise<void> {
    const child = await this.#child
    if (child?.kill('SIGKILL') === true) this.kills += 1
  }

  /** Ends it for good. Otherwise a run that failed would start it again for each further task. */
  async end(): Promise<void> {
    this.#hasEnded = true
    await this.kill()
  }

  async #start(): Promise<ChildProcess> {
    const given = [JSON.stringify(this.#options)]
    const child = fork(PROGRAM, given, { env: programEnvironment() })
    child.on('exit', () => {
      this.#child = undefined
      for (const answer of this.#waiting.values()) answer('retry')
      this.#waiting.clear()
    })
    child.on('message', ({ number, answer }: Answer) => {
      this.#waiting.get(number)?.(answer)
      this.#waiting.delete(number)
    })
    await Promise.race([once(child, 'message'), once(child, 'exit')])
    return child
  }
}
