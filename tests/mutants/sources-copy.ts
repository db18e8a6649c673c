import { spawnSync } from 'node:child_process'
import {
  cpSync,
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
import type { Mutant } from './mutant.ts'

/** The workspaces' links in `node_modules`, copied as links, so that they lead into the copy. */
const OWN_SCOPE = '@bonded'
const COPIED = ['packages', 'package.json']
/**
 * Three times the slowest file on a busy machine. A test that never ends counts as a failure too.
 */
const TIMEOUT_MS = 120_000

/** The result of a run of some test files. */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly test: string }
  /** The file does not load, so it needs no test to detect the mutant. */
  | { readonly kind: 'broken'; readonly file: string }

/**
 * A copy of the sources to mutate, so that the working tree stays unchanged. Installed packages are
 * linked. The recorded vectors are left out, because these tests must detect the mutants without
 * them.
 */
export class SourcesCopy implements Disposable {
  readonly root: string

  constructor(from: string) {
    this.root = mkdtempSync(join(tmpdir(), 'bonded-mutants-'))
    const isLeftOut = (path: string) => ['node_modules', 'dist'].includes(basename(path))
    for (const name of COPIED)
      cpSync(join(from, name), join(this.root, name), {
        recursive: true,
        filter: (path) => !isLeftOut(path),
      })
    const [installed, linked] = [join(from, 'node_modules'), join(this.root, 'node_modules')]
    mkdirSync(linked)
    for (const name of readdirSync(installed)) {
      if (name === OWN_SCOPE)
        cpSync(join(installed, name), join(linked, name), {
          recursive: true,
          verbatimSymlinks: true,
        })
      else if (!name.startsWith('.')) symlinkSync(join(installed, name), join(linked, name))
    }
  }

  /** Runs the mutant's tests with the mutant planted, up to the first file in which one fails. */
  outcomeOf(mutant: Mutant): Outcome {
    const path = join(this.root, mutant.file)
    const source = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      source.replace(mutant.find, () => mutant.replace),
    )
    try {
      return this.run(mutant.tests)
    } finally {
      writeFileSync(path, source)
    }
  }

  run(tests: readonly string[]): Outcome {
    for (const file of tests) {
      const { NODE_TEST_CONTEXT: _ours, ...inherited } = process.env
      const { status, stdout } = spawnSync(process.execPath, ['--test-reporter=tap', file], {
        cwd: this.root,
        encoding: 'utf8',
        env: { ...inherited, NODE_OPTIONS: '--conditions=@bonded/source' },
        timeout: TIMEOUT_MS,
        killSignal: 'SIGKILL',
      })
      if (status === 0) continue
      if (status === null) return { kind: 'failed', test: `${file} does not end` }
      const [, test] = /^ *not ok \d+ - (.*)$/m.exec(stdout) ?? []
      return test === undefined ? { kind: 'broken', file } : { kind: 'failed', test }
    }
    return { kind: 'passed' }
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
