import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { TIERS } from '../scripts/tiers.ts'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> } }>
  >
}

test('the workflow runs every check of .ci/run, and each tier on a machine of its own', () => {
  const named = [...read('.ci/run').matchAll(/^check (\S+)$/gm)].map(([, name = '']) => name)
  const slow = TIERS.filter((tier) => tier !== 'test').map((tier) => `test:${tier}`)
  const checks = named.flatMap((name) => (name === 'test:slow' ? slow : [name]))
  const { jobs } = parse(read('.github/workflows/checks.yml')) as Workflow
  assert.ok(checks.length >= 10)
  assert.deepEqual(jobs.checks?.strategy?.matrix.check, checks)
})

test('every script that a workflow names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const file of globSync('.github/workflows/*.yml', { cwd: ROOT }))
    for (const [, name = ''] of read(file).matchAll(/npm run ([\w:]+)/g))
      assert.ok(name in scripts, `${file}: npm run ${name}`)
})

test('the files of GitHub are valid YAML', () => {
  const files = globSync('.github/**/*.yml', { cwd: ROOT })
  assert.ok(files.length >= 6)
  for (const file of files) assert.doesNotThrow(() => parse(read(file)), file)
})

test('the workflow fails for a skipped test unless it only lacks the recordings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-totals-'))
  const run = (...lines: readonly object[]) => {
    const file = join(folder, 'totals')
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const script = join(ROOT, 'scripts/totals.ts')
    return spawnSync(process.execPath, [script, file, '--without-vectors'], { encoding: 'utf8' })
  }
  const totals = { passed: 5, failed: 0 }
  try {
    const lacking = run({ ...totals, skipped: 2, unrecorded: 2 }, { ...totals, skipped: 0 })
    assert.equal(lacking.status, 0)
    assert.match(lacking.stdout, /^10 passed, 0 failed, 2 skipped$/m)
    assert.match(lacking.stderr, /LOUD: 2 tests/)
    assert.equal(run({ ...totals, skipped: 3, unrecorded: 2 }).status, 1)
    assert.equal(run().status, 1)
  } finally {
    rmSync(folder, { recursive: true })
  }
  assert.match(
    read('.github/workflows/checks.yml'),
    /test:totals -- "\$TEST_TOTALS" --without-vectors/,
  )
})
