import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Block } from './guide.ts'
import type { Values } from './replacements.ts'

/** Printed after a block that succeeded, with the folder in which it ended, or at its failure. */
const ENDED = /^__(ended|failed) (.+)\n/m
/** The last of what the shell says at a failure. It comes through another pipe. */
const LAST_ERROR = /^__last\n/m

interface Place {
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A shell in which a reader types blocks. It keeps variables, functions, and the folder. */
export class Terminal implements AsyncDisposable {
  readonly #place: { folder: string; readonly env: Place['env'] }
  readonly #shell: Program
  readonly #programs: Program[] = []
  /** The length of what earlier blocks have printed. */
  #before = 0

  constructor(place: Place) {
    this.#place = { ...place }
    this.#shell = new Program(['--norc'], place)
    this.#shell.answer(`set -euo pipefail\ntrap 'echo "\n__failed $?"; echo "\n__last" >&2' EXIT\n`)
  }

  write(name: string, block: Block, values?: Values): void {
    writeFileSync(join(this.#place.folder, name), block(values))
  }

  /** Runs a block to its end, which must be a success. Returns its standard output. */
  type(block: Block, values?: Values): Promise<string> {
    return this.add(block(values))
  }

  /** Runs a command that the test adds, and that no guide has. */
  async add(command: string): Promise<string> {
    const before = this.#shell.output.length
    this.#before = before
    // A program in the block must not read the shell's next commands.
    this.#shell.answer(`{ ${command}\n} < /dev/null\necho; echo "__ended $PWD"\n`)
    const { index, 1: how, 2: folder = '' } = await this.#shell.printed(ENDED, before)
    const output = this.#shell.output.slice(before, before + index)
    if (how === 'failed') await this.#shell.saidAtLast()
    assert.equal(how, 'ended', `${output}\n${this.#shell.errors}`)
    this.#place.folder = folder
    return output.replace(/\n$/, '')
  }

  /** Waits for a text that a block prints before its end. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#shell.printed(pattern, this.#before)
  }

  /** Starts a block in another terminal, in the same folder. */
  start(block: Block, values?: Values): Program {
    const program = new Program(['-c', block(values)], this.#place)
    this.#programs.push(program)
    return program
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#programs, this.#shell].map((program) => program.stop()))
  }
}

/** A program that runs, and what it has printed. */
export class Program {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  errors = ''
  readonly #changes = new EventEmitter()
  /** Its standard output so far. */
  output = ''
  /** Until it and what it has started have ended. */
  isRunning = true

  constructor(args: readonly string[], { folder, env }: Place) {
    const options = { cwd: folder, env, stdio: 'pipe', detached: true } as const
    const child = spawn('bash', args, options)
    this.#child = child
    child.stdout.on('data', (chunk) => {
      this.output += String(chunk)
      this.#changes.emit('change')
    })
    child.stderr.on('data', (chunk) => {
      this.errors += String(chunk)
      this.#changes.emit('change')
    })
    this.#closed = once(child, 'close').then(() => {
      this.isRunning = false
      this.#changes.emit('change')
    })
  }

  /** Waits for a text, and fails if the program ends without it. */
  async printed(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.output.slice(from))
      if (found !== null) return found
      assert.ok(this.isRunning, `${this.output}\n${this.errors}`)
      await once(this.#changes, 'change')
    }
  }

  /** Waits for the errors of a shell that has failed. */
  async saidAtLast(): Promise<void> {
    while (this.isRunning && !LAST_ERROR.test(this.errors)) await once(this.#changes, 'change')
  }

  answer(text: string): void {
    this.#child.stdin?.write(text)
  }

  /** What it printed until its end, which must be a success. */
  get ended(): Promise<string> {
    return this.#closed.then(() => {
      assert.equal(this.#child.exitCode, 0, `${this.output}\n${this.errors}`)
      return this.output
    })
  }

  async stop(): Promise<void> {
    this.#signal('SIGTERM')
    // A program that bash is about to start when the signal arrives never sees it.
    const timer = setTimeout(() => this.#signal('SIGKILL'), 10_000)
    await this.#closed
    clearTimeout(timer)
  }

  /** Signals what a block has left in the background too, which is in the same group. */
  #signal(signal: NodeJS.Signals): void {
    try {
      if (this.isRunning && this.#child.pid !== undefined) process.kill(-this.#child.pid, signal)
    } catch (failure) {
      // It has ended by itself meanwhile.
      if ((failure as NodeJS.ErrnoException).code !== 'ESRCH') throw failure
    }
  }
}
