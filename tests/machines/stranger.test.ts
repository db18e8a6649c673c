import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { WrittenTotals } from '../../scripts/test-reporter.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { assertBonded, quickstartSteps } from '../quickstart-steps.ts'
import { ROOT } from './copy-repository.ts'
import { rootsMissing } from './debian-root.ts'
import { USER } from './isolated.ts'
import { type Stranger, stranger } from './stranger.ts'

/** The oldest Node that may install the repository, with the npm of its releases. */
const OLDEST = { node: '20.20.2', npm: '10.8.2' }
/** What Node needs, and what npm needs to reach its registry. */
const DEBIAN = ['ca-certificates', 'libstdc++6']
/** The programs that the blocks of the quickstart call. */
const READER = ['curl', 'openssl']
/** What a test may not need, because a machine may not have it. */
const ABSENT = ['cc', 'chromium', 'curl', 'g++', 'gcc', 'git', 'make', 'python3']
const SKIP_REASONS = [
  /: the recorded (?:vectors are|motion is) not at /,
  /: no Chromium: /,
  /: no git: /,
]

/** The last version of each npm that installs the repository, and the Node of each that runs it. */
const INSTALLATIONS = ['20.20.2', '24.21.0'].flatMap((node) =>
  ['9.9.4', '10.8.2', '11.19.1'].map((npm) => ({ node, npm })),
)

const cache = mkdtempSync(join(tmpdir(), 'bonded-stranger-npm-'))
after(() => rmSync(cache, { recursive: true, force: true }))

for (const versions of INSTALLATIONS)
  test(`a stranger with npm ${versions.npm} on Node ${versions.node} starts and stops the demo, and follows the quickstart`, {
    skip: rootsMissing(),
    timeout: 1_800_000,
  }, async () => {
    using machine = stranger({ ...versions, debian: [...DEBIAN, ...READER], cache })
    const found = machine.finish(['sh', '-c', 'node --version; npm --version'])
    assert.equal(found.stdout, `v${versions.node}\n${versions.npm}\n`)
    const installed = machine.finish(['npm', 'ci'])
    assert.equal(installed.status, 0, installed.stdout + installed.stderr)
    await startAndStop(machine)
    await followQuickstart(machine)
  })

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

/** `npm start` serves a bank, a phone, and the service, and ends with a signal to npm alone. */
async function startAndStop(machine: Stranger): Promise<void> {
  const [service, bank, demo] = [await freePort(), await freePort(), await freePort()]
  await machine.signaled({
    command: ['npm', 'start'],
    env: [`BONDED_PORT=${service}`, `BANK_PORT=${bank}`, `DEMO_PORT=${demo}`],
    ready: /Stop {7}/,
    act: async () => {
      for (const [port, path] of [
        [service, '/health/ready'],
        [bank, '/'],
        [demo, '/'],
      ] as const)
        assert.equal((await fetch(`http://localhost:${port}${path}`)).status, 200, path)
    },
  })
}

/** The blocks of the quickstart bond a session, while its service runs in another terminal. */
async function followQuickstart(machine: Stranger): Promise<void> {
  const port = await freePort()
  const { start, reader } = quickstartSteps(port)
  const env = [`BONDED_PORT=${port}`]
  await machine.signaled({
    command: start,
    env,
    ready: /^ready:/m,
    act: async () => {
      const { status, stdout, stderr } = machine.finish(reader, env)
      assert.equal(status, 0, stdout + stderr)
      assertBonded(stdout)
    },
  })
}

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
