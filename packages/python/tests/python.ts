import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const PACKAGE = resolve(import.meta.dirname, '..')
/** The first one is the reader's. The packages of Debian are in the second one. */
const CANDIDATES = ['python3', '/usr/bin/python3']

/** Returns the Python that can import these modules, or the reason why a test is skipped. */
export function findPython(...modules: readonly string[]): { python: string } | { skip: string } {
  const program = ['-c', `import ${modules.join(', ')}`]
  const python = CANDIDATES.find((one) => spawnSync(one, program).status === 0)
  if (python !== undefined) return { python }
  const skip = `no python3 has ${modules.join(', ')}: apt-get install python3-cryptography python3-hatchling python3-httpx python3-pip python3-psycopg mypy`
  console.warn(`LOUD: ${skip}`)
  return { skip }
}

/** Runs a program of Python with the sources of the package. Returns what it printed. */
export function runPython(
  python: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): { readonly status: number | null; readonly printed: string } {
  const { status, stdout, stderr } = spawnSync(python, ['-B', ...args], {
    cwd: join(PACKAGE, 'tests'),
    env: { ...process.env, PYTHONPATH: join(PACKAGE, 'src'), PYTHONUTF8: '1', ...env },
    encoding: 'utf8',
    input,
    maxBuffer: 2 ** 26,
  })
  return { status, printed: stdout + stderr }
}

/** Runs a file of tests in Python, which must pass. */
export function passes(python: string, file: string): void {
  const { status, printed } = runPython(python, ['-m', 'unittest', file])
  assert.equal(status, 0, printed)
  // A run that executes no test, or skips one, does not count.
  assert.match(printed, /Ran [1-9]\d* tests? in [^]*\nOK\n$/, printed)
}
