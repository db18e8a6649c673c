import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { WrittenTotals } from '../../scripts/test-reporter.ts'
import { ROOT } from './copy-repository.ts'
import { rootsMissing } from './debian-root.ts'
import { USER } from './isolated.ts'
import { DEBIAN, type Stranger, stranger } from './stranger.ts'

/** The oldest Node that may install the repository, with the npm of its releases. */
const OLDEST = { node: '20.20.2', npm: '10.8.2' }
/** What a test may not need, because a machine may not have it. */
const ABSENT = ['cc', 'chromium', 'curl', 'g++', 'gcc', 'git', 'make', 'python3']
const SKIP_REASONS = [
  /: the recorded (?:vectors are|motion is) not at /,
  /: no Chromium: /,
  /: no git: /,
]

const cache = mkdtempSync(join(tmpdir(), 'bonded-stranger-npm-'))
after(() => rmSync(cache, { recursive: true, force: true }))

test('a stranger installs the repository, and runs the tests that need more than Node', {
  skip: rootsMissing(),
  timeout: 1_800_000,
}, (t) => {
  using machine = stranger({ ...OLDEST, debian: DEBIAN, cache })
  const { finish, repository, temporary } = machine
  const found = finish(['sh', '-c', `command -v ${ABSENT.join(' ')}; node --version; id -u`])
  assert.equal(found.stdout, `v20.20.2\n${USER}\n`)

  const installed = finish(['npm', 'ci'])
  assert.equal(installed.status, 0, installed.stdout + installed.stderr)

  const beforeTests = Date.now()
  const tested = finish(['npm', 'test', '--', '--machine'], ['TEST_TOTALS=/tmp/totals'])
  const skipped = tested.stdout.split('\n').filter((line) => line.startsWith('SKIPPED '))
  assert.equal(tested.status, 0, failuresOf(tested.stdout) + tested.stderr)
  assert.deepEqual(
    skipped.filter((line) => !SKIP_REASONS.some((reason) => reason.test(line))),
    [],
  )
  const totals = JSON.parse(readFileSync(join(temporary, 'totals'), 'utf8')) as WrittenTotals
  const seconds = Math.round((Date.now() - beforeTests) / 1_000)
  t.diagnostic(`tests of a stranger: ${JSON.stringify(totals)} in ${seconds} s`)
  const { failed, unrecorded } = totals
  assert.deepEqual([failed, totals.skipped], [0, skipped.length])
  const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const [, stated] =
    /Without them, (\d+) of the tests that [^.]+ are skipped/.exec(contributing) ?? []
  assert.equal(Number(stated), unrecorded, 'CONTRIBUTING.md states how many tests are skipped')

  // npm ci leaves it out where its download fails.
  const [pinned = ''] = globSync('node_modules/node-linux-*', { cwd: repository })
  renameSync(join(repository, pinned), join(temporary, 'pinned'))
  assertRefused(machine, /needs Node 24\.0 or newer\. This is v20\.20\.2\..* Run npm ci/)
  const failedInstallation = finish(['npm', 'ci', '--offline', '--cache', '/tmp/empty'])
  assert.notEqual(failedInstallation.status, 0)
  assertRefused(machine, /^error: npm ci has not finished here, /m)
})

function assertRefused({ finish }: Stranger, why: RegExp): void {
  for (const script of ['start', 'example', 'docs', 'test', 'build']) {
    const ran = finish(['npm', 'run', '--silent', script])
    assert.equal(ran.status, 2, script)
    assert.match(ran.stderr, why)
  }
}

function failuresOf(output: string): string {
  return output.slice(output.indexOf('✖ failing tests:'))
}
