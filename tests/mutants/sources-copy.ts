import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Mutant, Tests } from './mutant.ts'
import { environment, type Outcome, Tester } from './tester.ts'

/** The workspaces' links in `node_modules`, copied as links, so that they lead into the copy. */
const OWN_SCOPE = '@bonded'
const COPIED = ['packages', 'proofs', 'tests/harness', 'package.json']
/** A multiple of the time of all files together. A test that never ends counts as a failure too. */
const TIMEOUT_MS = 300_000

/** The name of the test that waits until all files are loaded. */
const LOADED = 'all files are loaded'

/**
 * A copy of the sources to mutate, so that the working tree stays unchanged. Installed packages are
 * linked. The recorded vectors are left out, because these tests must detect the mutants without
 * them.
 */
export class SourcesCopy implements Disposable {
  readonly root: string
  readonly #tester: Tester

  constructor(from: string) {
    this.root = mkdtempSync(join(tmpdir(), 'bonded-mutants-'))
    const isLeftOut = (path: string) => ['node_modules', 'dist'].includes(basename(path))
    // Modules that tests of packages share.
    const shared = globSync('tests/*.ts', {
      cwd: from,
      exclude: (name) => name.endsWith('.test.ts'),
    })
    for (const name of [...COPIED, ...shared])
      cpSync(join(from, name), join(this.root, name), {
        recursive: true,
        filter: (path) => !isLeftOut(path),
      })
    const [installed, linked] = [join(from, 'node_modules'), join(this.root, 'node_modules')]
    mkdirSync(linked)
    this.#tester = new Tester(this.root)
    for (const name of readdirSync(installed)) {
      if (name === OWN_SCOPE)
        cpSync(join(installed, name), join(linked, name), {
          recursive: true,
          verbatimSymlinks: true,
        })
      else if (!name.startsWith('.')) symlinkSync(join(installed, name), join(linked, name))
    }
  }

  /** Runs the mutant's tests with the mutant planted, up to the first one that fails. */
  outcomeOf(mutant: Mutant): Promise<Outcome> {
    const { file, begin = '' } = mutant.noticedBy
    const given = { changed: join(this.root, mutant.file), file: join(this.root, file), begin }
    return this.withMutant(mutant, () => this.#tester.outcomeOf(given))
  }

  /** Acts while a mutant is planted. */
  async withMutant<Result>(
    { file, find, replace }: Pick<Mutant, 'file' | 'find' | 'replace'>,
    act: () => Promise<Result>,
  ): Promise<Result> {
    const path = join(this.root, file)
    const source = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      source.replace(find, () => replace),
    )
    try {
      return await act()
    } finally {
      writeFileSync(path, source)
    }
  }

  /** Runs all tests in one process, which is faster than one process for each file. */
  run(tests: readonly Tests[]): Promise<Outcome> {
    const files = new Set(tests.map(({ file }) => join(this.root, file)))
    const all = join(this.root, 'all.mjs')
    writeFileSync(all, loading([...files]))
    return this.#runFile(all, [LOADED, ...new Set(tests.map(({ begin = '' }) => begin))])
  }

  async #runFile(file: string, begins: readonly string[]): Promise<Outcome> {
    const named = begins.map((begin) => `--test-name-pattern=^${escaped(begin)}`)
    const running = spawn(process.execPath, ['--test-reporter=tap', ...named, file], {
      cwd: this.root,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    const closed = once(running, 'close')
    const printed: string[] = []
    running.stderr.setEncoding('utf8').on('data', (text: string) => void printed.push(text))
    const passed: string[] = []
    for await (const line of createInterface(running.stdout)) {
      const [, not, name] = /^ *(not )?ok \d+ - (.*)$/.exec(line) ?? []
      if (name === undefined) continue
      const test = name.replaceAll(/\\([\\#])/g, '$1')
      if (not === undefined) {
        passed.push(test)
        continue
      }
      running.kill('SIGKILL')
      await closed
      return { kind: 'failed', test }
    }
    const [status] = await closed
    if (status === 0) return { kind: 'passed', tests: passed }
    return { kind: 'broken', why: `ended with ${status}: ${printed.join('').slice(-2_000)}` }
  }

  [Symbol.dispose](): void {
    this.#tester[Symbol.dispose]()
    rmSync(this.root, { recursive: true, force: true })
  }
}

/**
 * A module that loads files one after another. Its own test ends when all are loaded. Without it
 * the runner would end, and call the hooks that stop the services, when the tests of the files so
 * far have ended, while the next file is still starting its service.
 */
function loading(files: readonly string[]): string {
  return `import { test } from 'node:test'
const loaded = Promise.withResolvers()
test(${JSON.stringify(LOADED)}, () => loaded.promise)
for (const file of ${JSON.stringify(files)}) await import(file)
loaded.resolve()
`
}

/** Returns a part of a regular expression that matches this text only. */
function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
