import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'

/** A program could not be run, or failed. The message has nothing that it printed. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError'
  /** What it printed on its standard error. Not for a program that prints secrets. */
  readonly printed: string

  constructor(message: string, { printed = '', ...options }: ErrorOptions & { printed?: string }) {
    super(message, options)
    this.printed = printed
  }
}

/** What a program gets, and what it may use. */
export interface ProgramRun {
  readonly args?: readonly string[]
  /** Its standard input; empty without it. */
  readonly input?: Uint8Array
  readonly timeoutMs: number
  readonly maxCharacters: number
}

/** This process's environment without the settings of the service, which are secrets. */
export function programEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('BONDED_')),
  )
}

/**
 * Runs a program without a shell, and returns what it prints.
 *
 * @throws {ProgramError} if it fails, prints too much, or does not end in time. Then it is killed
 */
export async function runProgram(
  command: string,
  { args = [], input = new Uint8Array(), timeoutMs, maxCharacters }: ProgramRun,
): Promise<string> {
  const child = spawn(command, args, {
    env: programEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own, so that what the program has started ends with it.
    detached: true,
  })
  let problem: string | undefined
  const kill = (reason: string) => {
    problem ??= reason
    try {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The whole group has ended by itself.
    }
    child.stdout.destroy()
    child.stderr.destroy()
  }
  const timer = setTimeout(kill, timeoutMs, `did not end within ${timeoutMs / 1_000} s`)
  const printed = { out: '', err: '' }
  const collect = (name: keyof typeof printed) => (text: unknown) => {
    printed[name] += String(text)
    if (printed[name].length > maxCharacters)
      kill(`printed more than ${maxCharacters.toLocaleString('en-US')} characters`)
  }
  child.stdout.on('data', collect('out'))
  child.stderr.on('data', collect('err'))
  // A program that ends without reading its input breaks the pipe. Its status says what happened.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise<string>((resolve, reject) => {
    child.once('error', (cause) => reject(new ProgramError('cannot be run', { cause })))
    child.once('close', (status, signal) => {
      const end = signal === null ? `status ${String(status)}` : `the signal ${signal}`
      if (problem === undefined && status !== 0) problem = `ended with ${end}`
      if (problem === undefined) return resolve(printed.out)
      const err = printed.err.trim().slice(0, maxCharacters)
      return reject(new ProgramError(problem, { printed: err }))
    })
  }).finally(() => clearTimeout(timer))
}

/** Whether there is a file that this system would run. */
export function isProgram(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() === true && (process.platform === 'win32' || (found.mode & 0o111) !== 0)
}
