import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import type { Answer, Question } from './planted.ts'

/** The result of a run of tests. */
export type Outcome =
  | { readonly kind: 'passed'; readonly tests: readonly string[] }
  | { readonly kind: 'failed'; readonly test: string }
  /** The file does not load, so it needs no test to detect the mutant. */
  | { readonly kind: 'broken'; readonly why: string }

const PLANTED = resolve(import.meta.dirname, 'planted.ts')
/** A multiple of the time of all files together. A test that never ends counts as a failure too. */
const TIMEOUT_MS = 300_000
/** Each mutant of the service leaves up to 35 MB of modules in the process. */
const MUTANTS_A_PROCESS = 32

interface Limits {
  readonly timeoutMs: number
  readonly mutantsAProcess: number
}

/** Runs tests of one mutant after another in a process, which it replaces after some of them. */
export class Tester implements Disposable {
  readonly #root: string
  readonly #limits: Limits
  #child: ChildProcess | undefined
  #asked = 0

  constructor(
    root: string,
    limits: Limits = { timeoutMs: TIMEOUT_MS, mutantsAProcess: MUTANTS_A_PROCESS },
  ) {
    this.#root = root
    this.#limits = limits
  }

  async outcomeOf(given: Omit<Question, 'number'>): Promise<Outcome> {
    if (this.#asked === this.#limits.mutantsAProcess) this[Symbol.dispose]()
    const isNew = this.#child === undefined
    const answer = await this.#ask({ number: this.#asked + 1, ...given })
    // An error that no test caught may come from what an earlier mutant has left.
    if (answer.ends && !isNew) return this.outcomeOf(given)
    if (answer.broken !== undefined) return { kind: 'broken', why: answer.broken }
    return answer.failed === undefined
      ? { kind: 'passed', tests: [] }
      : { kind: 'failed', test: answer.failed }
  }

  async #ask(question: Question): Promise<Answer> {
    this.#asked = question.number
    const child = (this.#child ??= fork(PLANTED, {
      cwd: this.#root,
      env: environment(),
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: 'ignore',
    }))
    child.send(question)
    const answers = new AbortController()
    const signal = AbortSignal.any([answers.signal, AbortSignal.timeout(this.#limits.timeoutMs)])
    const ended = once(child, 'exit', { signal }).then(
      ([code]): Answer => ({
        broken: `ended with ${String(code)}`,
        ends: true,
      }),
    )
    const answered = once(child, 'message', { signal }) as Promise<[Answer]>
    const answer = await Promise.race([answered.then(([first]) => first), ended]).catch(
      (): Answer => ({ failed: `${question.file} does not end`, ends: true }),
    )
    answers.abort()
    if (answer.ends) this[Symbol.dispose]()
    return answer
  }

  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
    this.#asked = 0
  }
}

/** Leaves out the variable by which a runner knows that it runs in another one. */
export function environment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _ours, ...inherited } = process.env
  return { ...inherited, NODE_OPTIONS: '--conditions=@bonded/source' }
}
