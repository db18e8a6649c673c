import assert from 'node:assert/strict'
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../../../../../tests/harness/process.ts'
import { ProgramError, runProgram } from '../../../src/adapters/programs/program.ts'

const ROOT = resolve(import.meta.dirname, '../../../../..')
/** Every call that starts a program, up to the end of its arguments. */
const START =
  /(?<![.\w])(?:spawn|spawnSync|execFile|execFileSync|exec|execSync|fork)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g
const folder = mkdtempSync(join(tmpdir(), 'bonded-program-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const LIMITS = { timeoutMs: 20_000, maxCharacters: 100 }

let written = 0
function write(script: string): string {
  const path = join(folder, `program-${written++}`)
  writeFileSync(path, `#!/bin/sh\n${script}`)
  chmodSync(path, 0o755)
  return path
}

test('a program gets the environment without the settings of the service', async (t) => {
  // Not each of them is a key: a URL has a password, and a credential acts for a tenant.
  const names = ['ROOT_KEYS', 'DATABASE_URL', 'SERVER_CREDENTIAL', 'TRACES_HEADERS']
  const secrets = names.map((name) => `BONDED_${name}`)
  for (const name of secrets) process.env[name] = 'a secret of the service'
  process.env.ANOTHER = 'for the program'
  t.after(() => {
    for (const name of [...secrets, 'ANOTHER']) delete process.env[name]
  })
  const printed = await runProgram(write('env'), { ...LIMITS, maxCharacters: 100_000 })
  assert.doesNotMatch(printed, /BONDED_|a secret of the service/)
  assert.match(printed, /^ANOTHER=for the program$/m)
})

test('a message has nothing that a program printed, and says how it failed', async () => {
  const cases: readonly (readonly [script: string, message: string])[] = [
    ['echo secret; echo denied >&2; exit 3', 'ended with status 3'],
    ['kill -TERM $$', 'ended with the signal SIGTERM'],
    ['yes secret', 'printed more than 100 characters'],
    ['head -c 200 /dev/zero; exit 0', 'printed more than 100 characters'],
  ]
  for (const [script, message] of cases)
    await assert.rejects(runProgram(write(script), LIMITS), { name: 'ProgramError', message })
  const failed = runProgram(write('sleep 60'), { ...LIMITS, timeoutMs: 50 })
  await assert.rejects(failed, { message: 'did not end within 0.05 s' })
  await assert.rejects(runProgram(join(folder, 'none'), LIMITS), { message: 'cannot be run' })
})

test('what a program has started ends with it', async () => {
  const [pipe, mark] = [join(folder, 'pipe'), join(folder, 'mark')]
  const script = write(`mkfifo ${pipe}; (read line < ${pipe}; touch ${mark}) & yes`)
  await assert.rejects(runProgram(script, LIMITS), ProgramError)
  // A killed process does nothing more. Its end of the pipe closes when the system has ended it.
  const isRead = () => {
    try {
      closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK))
      return true
    } catch (failure) {
      assert.equal((failure as NodeJS.ErrnoException).code, 'ENXIO')
      return false
    }
  }
  await until(async () => !isRead() || undefined, 20_000)
  assert.equal(existsSync(mark), false)
})

/** The last one is of a command whose user has approved each variable. */
const OWN_ENVIRONMENT =
  /\benv: (?:programEnvironment|inherited)\(|env: \{\s+\.\.\.(?:programEnvironment|inherited)\(|env: environment\b/

test('no package starts a program with the whole environment', () => {
  const sources = ['packages/*/src/**/*.ts', 'proofs/!(tests)/**/*.ts']
  const starts = globSync(sources, { cwd: ROOT }).flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return text.includes("'node:child_process'")
      ? [...text.matchAll(START)].map(([call]) => ({ file, call }))
      : []
  })
  assert.ok(starts.length >= 7, `${starts.length} calls`)
  assert.deepEqual(
    starts.filter(({ call }) => !OWN_ENVIRONMENT.test(call)),
    [],
  )
})
