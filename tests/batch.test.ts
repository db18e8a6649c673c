import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'

const SCRIPTS = resolve(import.meta.dirname, '../scripts')
const folder = mkdtempSync(join(tmpdir(), 'bonded-batch-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const TOTALS = join(folder, 'totals')
const PASSING = `import { test } from 'node:test'\ntest('passes', () => {})\n`

/** Runs test files in one process, and returns the exit code and the output. */
function run(files: Readonly<Record<string, string>>): { status: number | null; text: string } {
  for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source)
  const batch = join(folder, 'batch.mjs')
  const paths = Object.keys(files).map((name) => join(folder, name))
  writeFileSync(
    batch,
    `import { runBatch } from '${pathToFileURL(join(SCRIPTS, 'batch.ts')).href}'\n` +
      `await runBatch(${JSON.stringify(paths)})\n`,
  )
  // The tests of the files here are not tests of the tier.
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env
  const reporters = ['spec', pathToFileURL(join(SCRIPTS, 'test-reporter.ts')).href].flatMap(
    (name) => [`--test-reporter=${name}`, '--test-reporter-destination=stdout'],
  )
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--test', ...reporters, batch], {
    encoding: 'utf8',
    env: { ...env, TEST_TOTALS: TOTALS },
  })
  return { status, text: stdout + stderr }
}

test('counts the tests of every file of a batch, and names each file', () => {
  const { status, text } = run({ 'a.test.mjs': PASSING, 'b.test.mjs': PASSING })
  assert.equal(status, 0, text)
  assert.match(text, /✔ .*a\.test\.mjs[^]*✔ .*b\.test\.mjs[^]*2 passed, 0 failed, 0 skipped/)
})

test('keeps the hooks of one file away from the tests of another', () => {
  const hook = `import { beforeEach } from 'node:test'\nbeforeEach(() => { throw new Error() })\n`
  const { status, text } = run({ 'a.test.mjs': hook + PASSING, 'b.test.mjs': PASSING })
  assert.equal(status, 1)
  assert.match(text, /✖ .*a\.test\.mjs[^]*✔ .*b\.test\.mjs[^]*1 passed, 1 failed, 0 skipped/)
})

test('the sum of all tiers names each failed test and why it failed', () => {
  rmSync(TOTALS, { force: true })
  const failing = `import { test } from 'node:test'\ntest('adds', () => { throw new Error('3') })\n`
  run({ 'a.test.mjs': failing + PASSING.replace(/^.*\n/, ''), 'b.test.mjs': PASSING })
  const { stdout } = spawnSync(process.execPath, [join(SCRIPTS, 'totals.ts'), TOTALS], {
    encoding: 'utf8',
  })
  assert.match(stdout, /^FAILED .*: adds\n {2}Error: 3\n[^]*\n2 passed, 1 failed, 0 skipped\n$/)
})

for (const [what, source] of [
  ['cannot be imported', `import './nowhere.mjs'\n`],
  ['throws before its first test', `throw new Error('at once')\n`],
  ['throws after its first test', `${PASSING}throw new Error('late')\n`],
  [
    'has a failing hook',
    `import { before } from 'node:test'\nbefore(() => { throw 1 })\n${PASSING}`,
  ],
] as const)
  test(`fails when a file ${what}, and runs the other files`, () => {
    const { status, text } = run({ 'a.test.mjs': source, 'b.test.mjs': PASSING })
    assert.equal(status, 1)
    assert.match(text, /✖ .*a\.test\.mjs/)
    assert.match(text, /✔ .*b\.test\.mjs/)
    assert.match(text, /1 passed, [12] failed, 0 skipped/)
  })

test('fails and names the file when a file ends the process', () => {
  for (const code of [0, 3]) {
    const exit = `import { test } from 'node:test'\ntest('exits', () => process.exit(${code}))\n`
    const { status, text } = run({
      'a.test.mjs': PASSING,
      'b.test.mjs': exit,
      'c.test.mjs': PASSING,
    })
    assert.match(text, new RegExp(`b\\.test\\.mjs ended its process before its last test: ${code}`))
    assert.equal(status, 1, `exit code ${code}`)
    assert.match(text, /[1-9] failed/)
  }
})

test('fails and names the file when its tests can never end', () => {
  const source = `import { test } from 'node:test'\ntest('waits', () => new Promise(() => {}))\n`
  const { status, text } = run({ 'a.test.mjs': source, 'b.test.mjs': PASSING })
  assert.equal(status, 1)
  assert.match(text, /a\.test\.mjs ended its process before its last test: 1/)
  assert.match(text, /[1-9] failed/)
})
