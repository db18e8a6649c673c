import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob, resolve } from 'node:path'
import { test } from 'node:test'
import { filesOfGate, filesOfRest, ON_POSTGRES_IN_GATE, ONLY_IN_FULL } from '../scripts/gate.ts'
import {
  batchesOf,
  FAST,
  filesOf,
  filesOfMachine,
  filesRunBy,
  filesThatReach,
  ON_POSTGRES,
  SLOW,
  SLOWEST,
  TIERS,
  tiersOf,
} from '../scripts/tiers.ts'

const ROOT = resolve(import.meta.dirname, '..')
const EVERY_FILE = globSync('**/*.test.{ts,js,mjs}', {
  cwd: ROOT,
  exclude: (path) => /(?:^|\/)(?:node_modules|dist|\.stryker-tmp)$/.test(path),
})

test('every test file is in exactly one tier', () => {
  assert.ok(EVERY_FILE.length > 100)
  const run = TIERS.flatMap((tier) => filesOf(tier))
  assert.deepEqual(run.toSorted(), EVERY_FILE.toSorted())
  for (const file of EVERY_FILE) assert.equal(tiersOf(file).length, 1, file)
})

test('every pattern of a slow tier, of the tests on PostgreSQL, and of the slowest files matches a file', () => {
  for (const pattern of [...Object.values(SLOW).flat(), ...ON_POSTGRES, ...SLOWEST])
    assert.ok(
      EVERY_FILE.some((file) => matchesGlob(file, pattern)),
      pattern,
    )
})

test('the gate and the rest together run each file of each tier once', () => {
  const parts = [...filesOfGate(), ...filesOfRest()]
  for (const tier of TIERS.filter((one) => one !== 'test'))
    assert.deepEqual(
      parts.flatMap((part) => (part.tier === tier ? part.files : [])).toSorted(),
      filesRunBy(tier),
      tier,
    )
})

test('every pattern of what only the whole run has matches a file of a tier of the gate, and the gate repeats on PostgreSQL only what that tier repeats', () => {
  const ofGate = (['service', 'e2e', 'postgres'] as const).flatMap((tier) => filesOf(tier))
  for (const pattern of ONLY_IN_FULL)
    assert.ok(
      ofGate.some((file) => matchesGlob(file, pattern)),
      pattern,
    )
  for (const file of ON_POSTGRES_IN_GATE)
    assert.ok(
      ON_POSTGRES.some((pattern) => matchesGlob(file, pattern)),
      file,
    )
})

test('no test waits for the output of a process that may have ended', () => {
  const waits = EVERY_FILE.filter((file) =>
    /once\(\w+\.std(?:out|err), 'data'\)/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  assert.deepEqual(waits, [], 'use tests/harness/first-output.ts')
})

test('the batches of all slow tiers have each file of each tier once, the slowest first', () => {
  const wanted = TIERS.filter((tier) => tier !== 'test').map((tier) => ({
    tier,
    files: filesRunBy(tier),
  }))
  const batches = batchesOf(wanted)
  assert.deepEqual(
    batches.flatMap(({ files }) => files).toSorted(),
    wanted.flatMap(({ files }) => files).toSorted(),
  )
  assert.deepEqual(batches[0]?.files, SLOWEST.slice(0, 1))
  // Two that build the packages in place would break each other.
  const building = batches.filter(({ files }) => files.includes('tests/pack/pack.test.ts'))
  assert.ok(building[0]?.files.includes('examples/phone-app/tests/build.test.ts'))
  // A service on PostgreSQL is a matter of the whole process.
  const onPostgres = batches.filter(({ tier }) => tier === 'postgres')
  assert.deepEqual(onPostgres.flatMap(({ files }) => files).toSorted(), filesRunBy('postgres'))
})

test('a script of npm runs each tier by its name', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  for (const tier of TIERS) {
    const script = scripts[tier === 'test' ? 'test' : `test:${tier}`]
    assert.ok(script?.endsWith(`scripts/test.ts ${tier}`), `${tier}: ${script}`)
  }
})

test('no fast test starts the service with the harness', () => {
  const starting = filesThatReach((file) => file === 'tests/harness/harness.ts')
  assert.deepEqual(
    filesOf('test').filter((file) => starting.has(file)),
    [],
    'assign it to the tier service in scripts/tiers.ts',
  )
})

test('the files of the fast tiers whose result depends on the machine start a program, need recordings or a browser, or are about the repository', () => {
  const files = filesOfMachine()
  for (const file of [
    'examples/bank/tests/main.test.ts',
    'packages/attestation/tests/passport/recorded.test.ts',
    'packages/server/tests/http/connection/raw-response.test.ts',
    'tests/first-bond.test.ts',
    'tests/repository-files.test.ts',
  ])
    assert.ok(files.includes(file), file)
  const fast = FAST.flatMap((tier) => filesOf(tier))
  assert.ok(files.length < fast.length / 4, 'few modules reach outside of Node')
})
