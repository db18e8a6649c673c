import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
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
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { copyRepository, isBuilt, ROOT } from './copy-repository.ts'
import { completeSession, CREATE_TENANT } from './complete-session.ts'
import { debianRoot, DISTROLESS, rootsMissing } from './debian-root.ts'
import { isolated, USER } from './isolated.ts'
import { npmSettings } from './npm-settings.ts'

/** Fewer than `serve` loads, and many more than `--version`. */
const MODULES_OF_SERVE = 400

/** What the build uses of the official image of Node. */
const NODE_IMAGE = ['base-files', 'ca-certificates', 'coreutils', 'dash', 'libstdc++6', 'sed']

/** The base images set it. */
const PATH = 'PATH=/usr/local/bin:/usr/bin:/bin'
const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
nonroot:x:${USER}:${USER}:nonroot:/home/nonroot:/sbin/nologin
`

test('the Dockerfile makes an image that completes a session as user 65532, read-only', {
  skip: rootsMissing('buildah'),
  timeout: 1_200_000,
}, async () => {
  const work = mkdtempSync(join(tmpdir(), 'bonded-image-'))
  // User 65532 enters the folder, but lists nothing in it.
  chmodSync(work, 0o711)
  after(() => {
    // The storage of buildah is a mount of its own.
    spawnSync('umount', ['--recursive', join(work, 'images/overlay')])
    rmSync(work, { recursive: true, force: true })
  })
  const buildah = (...args: string[]) =>
    execFileSync(
      'buildah',
      ['--root', join(work, 'images'), '--runroot', join(work, 'run'), ...args],
      {
        encoding: 'utf8',
        env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
        maxBuffer: 2 ** 26,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ).trim()

  const base = (name: string, packages: readonly string[], add: (root: string) => void) => {
    const root = join(work, 'base')
    cpSync(debianRoot(packages), root, { recursive: true, verbatimSymlinks: true })
    writeFileSync(join(root, 'etc/passwd'), PASSWD)
    add(root)
    const container = buildah('from', 'scratch')
    buildah('add', '--quiet', container, root, '/')
    buildah('commit', '--quiet', '--rm', container, name)
    rmSync(root, { recursive: true })
  }
  const version = /NODE_VERSION=(.+)/.exec(
    readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'),
  )?.[1]
  base(`docker.io/library/node:${version}-bookworm-slim`, NODE_IMAGE, addNode)
  base('gcr.io/distroless/cc-debian12:nonroot', DISTROLESS, (root) => {
    const described = join(root, 'var/lib/dpkg/status.d')
    mkdirSync(described, { recursive: true })
    for (const name of DISTROLESS) {
      const fields = ['Package: ' + name, 'Version: 1:2.3+deb12u4', 'Architecture: amd64']
      writeFileSync(join(described, name), `${fields.join('\n')}\n`)
      writeFileSync(join(described, `${name}.md5sums`), '')
    }
    for (const programs of ['usr/bin', 'usr/sbin'])
      rmSync(join(root, programs), { recursive: true })
  })

  const context = join(work, 'context')
  copyRepository(context, isBuilt)
  const settings = join(work, 'npmrc')
  writeFileSync(settings, npmSettings())
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
  buildah(
    'build',
    '--pull-never',
    '--isolation=chroot',
    '--quiet',
    `--volume=${settings}:/root/.npmrc:ro`,
    `--volume=${cache}:/root/.npm`,
    '--volume=/etc/ssl/certs:/etc/ssl/certs:ro',
    '--file=deploy/Dockerfile',
    '--tag=bonded',
    context,
  )
  const container = buildah('from', '--pull-never', 'bonded')
  const root = join(work, 'root')
  cpSync(buildah('mount', container), root, { recursive: true, verbatimSymlinks: true })
  buildah('umount', container)
  const { config } = (
    JSON.parse(buildah('inspect', '--type', 'image', 'bonded')) as {
      readonly OCIv1: { readonly config: ImageConfig }
    }
  ).OCIv1
  assert.deepEqual([config.User, config.StopSignal], [`${USER}:${USER}`, 'SIGTERM'])
  assert.doesNotMatch(
    JSON.stringify(config) +
      buildah('inspect', '--type', 'image', '--format', '{{.History}}', 'bonded'),
    /registry\./,
    'no setting of this machine is in a layer',
  )
  assertContents(root)
  assertBill(join(root, 'app'), version)

  const data = join(work, 'data')
  mkdirSync(data)
  chownSync(data, USER, USER)
  const port = await freePort()
  const run = (words: readonly string[], env: readonly string[] = []) =>
    isolated({
      root,
      writable: [[data, '/data']],
      env: [PATH, ...config.Env, ...env],
      command: words,
    })
  const service = spawn(
    'setpriv',
    run(
      [...config.Entrypoint, ...config.Cmd, '--json'],
      [`BONDED_PORT=${port}`, 'BONDED_HOST=127.0.0.1'],
    ),
  )
  let errors = ''
  service.stderr.on('data', (chunk) => (errors += String(chunk)))
  const exited = once(service, 'exit') as Promise<[number | null]>
  await Promise.race([
    once(createInterface(service.stdout), 'line'),
    exited.then(([code]) => assert.fail(`serve ended with ${code}: ${errors}`)),
  ])
  const origin = `http://localhost:${port}`
  const healthCheck = () =>
    spawnSync(
      'setpriv',
      run(['/usr/local/bin/node', '/app/healthcheck.mjs'], [`BONDED_PORT=${port}`]),
    ).status
  assert.equal(healthCheck(), 0)
  assert.equal((await fetch(`${origin}/v1/pulse.js`)).status, 200)
  assert.equal((await fetch(`${origin}/bond`)).status, 200)
  const created = spawnSync('setpriv', run(['bonded', ...CREATE_TENANT]), { encoding: 'utf8' })
  assert.equal(created.status, 0, created.stderr)
  const { server_credential } = JSON.parse(created.stdout) as { server_credential: string }
  await completeSession(origin, server_credential)
  assert.equal(statSync(join(data, 'bonded.db')).uid, USER)
  service.kill('SIGTERM')
  await exited
  assert.equal(healthCheck(), 1, 'the health check fails without a service')
  for (const command of ['clock', 'dev', 'open', 'phone', 'prove']) {
    const ran = spawnSync('setpriv', run(['bonded', command]), { encoding: 'utf8' })
    assert.equal(ran.status, 2, ran.stdout)
    assert.match(ran.stderr, /needs the package @bonded\/sandbox, which is not installed/)
  }
})

interface ImageConfig {
  readonly User: string
  readonly StopSignal: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
}

/** What the service needs, without sources and tools, and a cache that its user cannot change. */
function assertContents(root: string): void {
  const app = join(root, 'app')
  assert.deepEqual(globSync('packages/*/src', { cwd: app }), [], 'the image has no sources')
  assert.deepEqual(
    readdirSync(join(app, 'node_modules/@bonded')).toSorted(),
    readdirSync(join(app, 'packages')).toSorted(),
    'each package of the image is linked, and no other',
  )
  for (const name of ['sandbox', 'simulator'])
    assert.ok(!existsSync(join(app, 'packages', name)), `${name} is not for production`)
  const modules = readdirSync(join(app, 'node_modules'))
  assert.ok(modules.includes('pg'), 'the driver of PostgreSQL is in the image')
  for (const name of ['typescript', 'esbuild', 'playwright-core'])
    assert.ok(!modules.includes(name), `${name} is not needed at run time`)
  const cache = join(app, 'node_modules/.cache/bonded')
  const [folder = '', ...others] = readdirSync(cache)
  assert.match(folder, new RegExp(`-${USER}$`), 'Node reads only what the same user has stored')
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

/** The bill of materials lists exactly what is in the image. */
function assertBill(app: string, node: string | undefined): void {
  const bill = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8')) as Bill
  const listed = [bill.metadata.component, ...bill.components]
  const found = globSync(
    '{node_modules/{*,@*/*},node_modules/**/node_modules/{*,@*/*},packages/*}/package.json',
    { cwd: app },
  )
    .map((path) => JSON.parse(readFileSync(join(app, path), 'utf8')) as Component)
    .filter(({ name }) => name !== undefined)
    .map(({ name, version }) => `${name}@${version}`)
  const npm = listed.filter(({ purl }) => purl.startsWith('pkg:npm/'))
  assert.deepEqual(npm.map((each) => each['bom-ref']).toSorted(), [...new Set(found)].toSorted())
  for (const { licenses, ...each } of npm) assert.ok(licenses?.[0], each['bom-ref'])
  const debian = listed.filter(({ purl }) => purl.startsWith('pkg:deb/'))
  assert.deepEqual(new Set(debian.map(({ name }) => name)), new Set(DISTROLESS))
  const [libc] = debian.filter(({ name }) => name === 'libc6')
  assert.equal(libc?.purl, 'pkg:deb/debian/libc6@1%3A2.3%2Bdeb12u4?arch=amd64')
  const [ours] = listed.filter(({ name }) => name === 'node')
  assert.equal(ours?.version, node)
  assert.ok(ours?.components?.some(({ name }) => name === 'openssl'))
  assert.equal(npm.length + debian.length + 1, listed.length)
}

interface Component {
  readonly 'bom-ref': string
  readonly name?: string
  readonly version: string
  readonly purl: string
  readonly licenses?: readonly unknown[]
  readonly components?: readonly { readonly name: string }[]
}

interface Bill {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
}

/** The Node of the lockfile, and the npm of this machine. */
function addNode(root: string): void {
  const bin = join(root, 'usr/local/bin')
  mkdirSync(bin, { recursive: true })
  cpSync(realpathSync(process.execPath), join(bin, 'node'))
  const npm = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  cpSync(join(npm, 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name))
  if (!existsSync(join(root, 'bin/sh'))) symlinkSync('dash', join(root, 'bin/sh'))
}
