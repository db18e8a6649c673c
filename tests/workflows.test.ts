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

/** A line of `check_together` has several: an argument is a word, or words in quotes. */
const checksOf = (path: string) =>
  [...read(path).matchAll(/^check(?<together>_together)? (?<checks>.+)$/gm)].flatMap(
    ({ groups }) =>
      groups?.together === undefined
        ? [groups?.checks ?? '']
        : [...(groups.checks ?? '').matchAll(/'([^']+)'|(\S+)/g)].map(
            ([, quoted, word = '']) => quoted ?? word,
          ),
  )
const matrixOf = (path: string, job: string) =>
  (parse(read(path)) as Workflow).jobs[job]?.strategy?.matrix.check

test('checks that run together all end, and each that fails is named', () => {
  const script = `source .ci/checks
    npm() { echo "ran $3"; [ "$3" != lint ]; }
    check_together types lint 'lines -- --check'
    rm "$TEST_TOTALS"; echo "failed: \${failed[*]}"`
  const { stdout } = spawnSync('bash', ['-uc', script], { cwd: ROOT, encoding: 'utf8' })
  assert.match(stdout, /^ran types\nran lint\nran lines\n---[^]*\nfailed: lint\n$/)
})

test('the workflow of a change runs every check of .ci/run', () => {
  assert.ok(checksOf('.ci/run').length >= 8)
  assert.deepEqual(matrixOf('.github/workflows/checks.yml', 'checks'), checksOf('.ci/run'))
})

test('the nightly workflow runs what .ci/full does, each tier on a machine of its own, and so does a release', () => {
  assert.deepEqual(checksOf('.ci/full'), ['test:rest'])
  const tiers = TIERS.map((tier) => (tier === 'test' ? tier : `test:${tier}`))
  assert.deepEqual(matrixOf('.github/workflows/full.yml', 'full'), tiers)
  const { on } = parse(read('.github/workflows/full.yml')) as { readonly on: object }
  assert.deepEqual(Object.keys(on), ['schedule', 'workflow_dispatch', 'workflow_call'])
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    readonly jobs: Readonly<Record<string, { readonly uses?: string; readonly needs?: string }>>
  }
  assert.equal(jobs.full?.uses, './.github/workflows/full.yml')
  assert.equal(jobs.publish?.needs, 'full')
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

test('each kind of update waits a week for a new version', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    readonly updates: readonly { readonly cooldown?: { readonly 'default-days': number } }[]
  }
  assert.ok(updates.length > 0)
  for (const { cooldown } of updates) assert.equal(cooldown?.['default-days'], 7)
})

test('a release signs the image and attests its origin, by the digest that it has pushed', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    readonly jobs: Readonly<Record<string, Job>>
  }
  const { permissions, steps = [] } = jobs.image ?? {}
  assert.equal(permissions?.['id-token'], 'write')
  const digest = '${{ steps.push.outputs.digest }}'
  const signed = steps.find(({ run }) => run?.startsWith('cosign sign --yes "$IMAGE@$DIGEST"'))
  assert.equal(signed?.env?.DIGEST, digest)
  const attested = steps.find(({ uses }) => uses?.startsWith('actions/attest-build-provenance@'))
  assert.equal(attested?.with?.['subject-digest'], digest)
  assert.match(read('.github/workflows/release.yml'), /^# Not verified yet:/m)
})

interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps?: readonly {
    readonly run?: string
    readonly uses?: string
    readonly env?: Readonly<Record<string, string>>
    readonly with?: Readonly<Record<string, unknown>>
  }[]
}
