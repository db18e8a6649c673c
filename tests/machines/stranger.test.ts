import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import type { WrittenTotals } from '../../scripts/test-reporter.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { copyRepository, ROOT } from './copy-repository.ts'
import { debianRoot, rootsMissing } from './debian-root.ts'
import { isolated, USER } from './isolated.ts'
import { npmSettings } from './npm-settings.ts'

/** The oldest Node that may install the repository, with the npm of its releases. */
const PACKAGES = [`node-linux-${process.arch}@20.20.2`, 'npm@10.8.2']
/** What Node needs, and what npm needs to reach its registry. */
const DEBIAN = ['ca-certificates', 'libstdc++6']
/** What a test may not need, because a machine may not have it. */
const ABSENT = ['cc', 'chromium', 'curl', 'g++', 'gcc', 'git', 'make', 'python3']
const HOME = '/home/stranger'
const SKIP_REASONS = [
  /: the recorded (?:vectors are|motion is) not at /,
  /: no Chromium: /,
  /: no git: /,
]

test('a stranger installs the repository, starts the demo, and runs the tests that need more than Node', {
  skip: rootsMissing(),
  timeout: 1_800_000,
}, async (t) => {
  const work = mkdtempSync(join(tmpdir(), 'bonded-stranger-'))
  chmodSync(work, 0o711)
  after(() => rmSync(work, { recursive: true, force: true }))
  const root = join(work, 'root')
  const home = join(work, 'home')
  const temporary = join(work, 'tmp')
  makeRoot(root)
  makeHome(home, work)
  mkdirSync(temporary)
  execFileSync('chown', ['-R', `${USER}:${USER}`, home, temporary])
  const repository = join(home, 'repository')
  const run = (command: readonly string[], env: readonly string[] = []) =>
    isolated({
      root,
      mounts: [['/etc/ssl/certs', '/etc/ssl/certs']],
      writable: [
        [home, HOME],
        [temporary, '/tmp'],
      ],
      folder: `${HOME}/repository`,
      env: [
        `HOME=${HOME}`,
        `PATH=${HOME}/node/bin:/usr/bin:/bin`,
        // Its offset from UTC is 12:45 or 13:45.
        'TZ=Pacific/Chatham',
        'LANG=C',
        ...['NODE_EXTRA_CA_CERTS'].flatMap((name) => {
          const value = process.env[name]
          return value === undefined ? [] : [`${name}=${value}`]
        }),
        ...env,
      ],
      command,
    })
  const finish = (command: readonly string[], env?: readonly string[]) =>
    spawnSync('setpriv', run(command, env), { encoding: 'utf8', maxBuffer: 2 ** 26 })

  const found = finish(['sh', '-c', `command -v ${ABSENT.join(' ')}; node --version; id -u`])
  assert.equal(found.stdout, `v20.20.2\n${USER}\n`)

  const installed = finish(['npm', 'ci'])
  assert.equal(installed.status, 0, installed.stdout + installed.stderr)

  await startAndStop(run)

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

  // npm ci --omit=optional leaves it out.
  const [pinned = ''] = globSync('node_modules/node-linux-*', { cwd: repository })
  renameSync(join(repository, pinned), join(work, 'pinned'))
  for (const script of ['start', 'example', 'docs', 'test', 'build']) {
    const ran = finish(['npm', 'run', '--silent', script])
    assert.equal(ran.status, 2, script)
    assert.match(
      ran.stderr,
      /needs Node 24\.0 or newer\. This is v20\.20\.2\.\n.*--omit=optional\.$/m,
    )
  }
})

/** A minimal Debian with an account. */
function makeRoot(root: string): void {
  cpSync(debianRoot(DEBIAN, 'essential'), root, { recursive: true, verbatimSymlinks: true })
  mkdirSync(join(root, HOME), { recursive: true })
  appendFileSync(join(root, 'etc/passwd'), `stranger:x:${USER}:${USER}::${HOME}:/bin/sh\n`)
  for (const file of ['etc/hosts', 'etc/resolv.conf']) {
    rmSync(join(root, file), { force: true })
    copyFileSync(`/${file}`, join(root, file))
  }
}

/** The account's folder, with Node, npm, and the repository without the folders beside it. */
function makeHome(home: string, work: string): void {
  copyRepository(join(home, 'repository'))
  writeFileSync(join(home, '.npmrc'), npmSettings())
  execFileSync('npm', ['pack', '--silent', '--pack-destination', work, ...PACKAGES], { cwd: work })
  for (const name of ['node', 'npm']) {
    mkdirSync(join(home, name), { recursive: true })
    const [tarball = ''] = globSync(`${name}-*.tgz`, { cwd: work })
    const into = ['-C', join(home, name), '--strip-components=1']
    execFileSync('tar', ['-xzf', join(work, tarball), ...into])
  }
  for (const name of ['npm', 'npx'])
    symlinkSync(`../../npm/bin/${name}-cli.js`, join(home, 'node/bin', name))
}

/** `npm start` serves a bank, a phone, and the service, and ends with a signal to npm alone. */
async function startAndStop(
  run: (command: readonly string[], env: readonly string[]) => readonly string[],
): Promise<void> {
  const ports = [await freePort(), await freePort(), await freePort()] as const
  const [service, bank, demo] = ports
  const env = [`BONDED_PORT=${service}`, `BANK_PORT=${bank}`, `DEMO_PORT=${demo}`]
  const started = spawn(
    'setpriv',
    run(['sh', '-c', 'npm start & read -r line; kill "$!"; wait "$!"'], env),
  )
  const errors = text(started.stderr)
  let printed = ''
  const ready = new Promise<void>((done) => {
    started.stdout.on('data', (chunk) => {
      printed += String(chunk)
      if (/Stop {7}/.test(printed)) done()
    })
  })
  // A pipe ends when the last process that writes to it has ended.
  const ended = new Promise((done) => started.stdout.once('end', done))
  await Promise.race([ready, ended])
  assert.match(printed, /Stop {7}/, `${printed}${started.exitCode === null ? '' : await errors}`)
  for (const [port, path] of [
    [service, '/health/ready'],
    [bank, '/'],
    [demo, '/'],
  ] as const)
    assert.equal((await fetch(`http://localhost:${port}${path}`)).status, 200, path)
  started.stdin.end('stop\n')
  await ended
  assert.doesNotMatch(await errors, /error/i)
}

function failuresOf(output: string): string {
  return output.slice(output.indexOf('✖ failing tests:'))
}
