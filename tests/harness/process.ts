import assert from 'node:assert/strict'
import {
  type ChildProcess,
  execFile,
  type ExecFileException,
  type SpawnSyncReturns,
  spawn,
  spawnSync,
} from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Ran, runInThread } from './command-thread.ts'

const MAIN = resolve(import.meta.dirname, '../../packages/service/src/main.ts')
/** The service runs without the launcher, so that a signal reaches its process. */
export const COMMAND: readonly string[] = [
  '--conditions=@bonded/source',
  '--disable-warning=ExperimentalWarning',
  MAIN,
]

/** The arguments of a command that creates a tenant with one origin and one workflow. */
export const CREATE_TENANT: readonly string[] =
  'tenant create --name A --environment sandbox --origin https://a.example --workflow w:a'.split(
    ' ',
  )

/** A service in a separate process. */
export interface ServingProcess extends AsyncDisposable {
  readonly child: ChildProcess
  readonly origin: string
  /** Its output so far, with the log. */
  output(): string
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

export interface Machine extends Disposable {
  readonly folder: string
  readonly databaseFile: string
  /**
   * Runs a command to its end. The first run of each command in this process is a process of its
   * own. Later runs are in a thread, which costs a tenth of the CPU time.
   */
  readonly run: (...args: string[]) => Ran
  /** Runs a command to its end in a process of its own, which a signal may end. */
  readonly runAlone: (...args: string[]) => SpawnSyncReturns<string>
  /** Runs a command that must succeed and returns its JSON output. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test asserts the shape itself
  readonly json: (...args: string[]) => any
  /** The same without blocking this process. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test asserts the shape itself
  readonly jsonMeanwhile: (...args: string[]) => Promise<any>
  readonly serve: () => Promise<ServingProcess>
}

interface MachineOptions {
  /** The default is a new folder, which is removed at the end. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number
  /** The arguments of Node before those of a command. By default, they name the sources. */
  readonly program?: readonly string[]
}

/** Commands that serve, or start other programs until a signal ends them. */
const LASTING: readonly string[] = ['dev', 'listen', 'open', 'serve']
const hasRun = new Set<string>()

/** A command is the words before the first flag, without the ids and names after two of them. */
function isFirstRun(args: readonly string[]): boolean {
  const [name = ''] = args
  if (LASTING.includes(name)) return true
  const flag = args.findIndex((word) => word.startsWith('-'))
  const command = args.slice(0, Math.min(2, flag === -1 ? 2 : flag)).join(' ')
  const isFirst = !hasRun.has(command)
  hasRun.add(command)
  return isFirst
}

/** Runs commands and services on a separate data folder. */
export function machine(given: MachineOptions = {}): Machine {
  const folder = given.folder ?? mkdtempSync(join(tmpdir(), 'bonded-process-'))
  const databaseFile = join(folder, 'bonded.db')
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const env = { ...inherited, BONDED_DATA_DIR: folder, ...given.env }
  const user = given.uid === undefined ? {} : { uid: given.uid }
  const { program = COMMAND } = given
  const runAlone = (...args: string[]) =>
    spawnSync(process.execPath, [...program, ...args], {
      encoding: 'utf8',
      env,
      timeout: 120_000,
      ...user,
    })
  const needsProcess =
    given.program !== undefined ||
    given.uid !== undefined ||
    Object.keys(given.env ?? {}).some((name) => name.startsWith('NODE_'))
  const run = (...args: string[]) =>
    needsProcess || isFirstRun(args) ? runAlone(...args) : runInThread({ words: args, env })
  return {
    folder,
    databaseFile,
    run,
    runAlone,
    json(...args) {
      const ran = run(...args, '--json')
      assert.equal(ran.status, 0, `${args.join(' ')}: ${ran.stderr}`)
      return JSON.parse(ran.stdout)
    },
    async jsonMeanwhile(...args) {
      const words = [...program, ...args, '--json']
      const ran = promisify(execFile)(process.execPath, words, { env, ...user })
      const { stdout } = await ran.catch((failure: ExecFileException) => {
        failure.message = `${args.join(' ')}: ${failure.stderr}${failure.stdout}`
        throw failure
      })
      return JSON.parse(stdout)
    },
    async serve() {
      const child = spawn(process.execPath, [...program, 'serve', '--json'], {
        env: { BONDED_PORT: '0', BONDED_PUBLIC_ORIGIN: 'http://localhost:1', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...user,
      })
      let output = ''
      let isReady = false
      const { promise: ready, resolve: done, reject } = Promise.withResolvers<number>()
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk) => {
          output += String(chunk)
          // This search reads the whole output, so it ends with the first match.
          if (isReady) return
          const port = /"port":(\d+)/.exec(output)?.[1]
          if (port !== undefined) done(Number(port))
        })
      }
      const ended = once(child, 'exit') as Promise<[number | null]>
      void ended.then(([code]) => reject(new Error(`serve ended with ${code}: ${output}`)))
      const port = await ready
      isReady = true
      return {
        child,
        origin: `http://127.0.0.1:${port}`,
        output: () => output,
        async stop(signal) {
          child.kill(signal)
          return (await ended)[0]
        },
        async [Symbol.asyncDispose]() {
          if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
          await ended
        },
      }
    },
    [Symbol.dispose]() {
      if (given.folder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Polls until the condition has a result. It is for other processes, whose clock a test cannot
 * move.
 */
export async function until<T>(
  condition: () => Promise<T | undefined>,
  withinMs: number,
): Promise<T> {
  const deadline = Date.now() + withinMs
  for (;;) {
    const found = await condition()
    if (found !== undefined) return found
    assert.ok(Date.now() < deadline, `not within ${withinMs} ms`)
  }
}
