import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { skipWithoutNginx } from '../deploy/nginx.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { type BuiltImage, buildImage } from './built-image.ts'
import { completeSession, CREATE_TENANT } from './complete-session.ts'
import { DISTROLESS, rootsMissing } from './debian-root.ts'
import { isolated, USER } from './isolated.ts'
import type { Scene } from './scene.ts'

/** Fewer than `serve` loads, and many more than `--version`. */
const MODULES_OF_SERVE = 400

/** The base images set it. */
const PATH = 'PATH=/usr/local/bin:/usr/bin:/bin'

/** Mount points, which a platform adds to the files of an image. */
const MOUNTED = ['etc/bonded/', 'run/secrets/bonded/', 'etc/hosts', 'etc/authority.pem']
const PROGRAM = join(import.meta.dirname, 'scene.ts')

const skip = rootsMissing('buildah')
const hasIp = spawnSync('ip', ['-V']).status === 0
const sceneSkip = skip || skipWithoutNginx || (!hasIp && 'no ip (apt-get install iproute2)')
let image: BuiltImage
before(
  () => {
    if (skip) return
    image = buildImage()
    for (const path of MOUNTED)
      if (path.endsWith('/')) mkdirSync(join(image.root, path), { recursive: true })
      else writeFileSync(join(image.root, path), '')
  },
  { timeout: 1_200_000 },
)
after(() => image?.[Symbol.dispose]())

test('the Dockerfile makes an image that completes a session as user 65532, read-only', {
  skip,
  timeout: 300_000,
}, async () => {
  const { work, root, config } = image
  const { uid, gid, mode } = image.data
  assert.deepEqual([uid, gid, mode & 0o7777], [USER, 0, 0o770], 'a user of the group 0 writes')
  assert.deepEqual([config.User, config.StopSignal], [`${USER}:${USER}`, 'SIGTERM'])
  assert.deepEqual(config.Healthcheck.Test, ['CMD', '/usr/local/bin/node', '/app/healthcheck.mjs'])
  assert.doesNotMatch(
    JSON.stringify(config) + image.history,
    /registry\./,
    'no setting of this machine is in a layer',
  )
  assertContents(root)
  assertBill(join(root, 'app'), image.node)

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
  for (const command of ['clock', 'dev', 'open', 'phone']) {
    const ran = spawnSync('setpriv', run(['bonded', command]), { encoding: 'utf8' })
    assert.equal(ran.status, 2, ran.stdout)
    assert.match(ran.stderr, /needs the package @bonded\/sandbox, which is not installed/)
  }
})

/** The networks and the users of containers that its files in `deploy` meet. */
const SCENES = [
  { way: 'compose', text: 'Compose', of: 'both families of addresses' },
  { way: 'kubernetes', only: 'IPv4', text: 'Kubernetes', of: 'IPv4 only' },
  { way: 'openshift', only: 'IPv6', text: 'OpenShift, as a random user', of: 'IPv6 only' },
] as const

for (const { text, of, ...given } of SCENES)
  test(`a bond, an approval in the inbox, and a sign-in to the console: ${text}, with ${of}`, {
    skip: sceneSkip,
    timeout: 600_000,
  }, async () => {
    const { work, root, config, data } = image
    const folder = join(work, given.way)
    mkdirSync(folder, { mode: 0o755 })
    const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    const names = ['bond', 'console', 'approve'].map((name) => `DNS:${name}.example.com`)
    const request =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=bond.example.com'
    const files = ['-keyout', key, '-out', certificate]
    const alternatives = ['-addext', `subjectAltName=${names.join()}`]
    execFileSync('openssl', [...request.split(' '), ...alternatives, ...files], { stdio: 'ignore' })
    const { uid, gid, mode } = data
    const scene: Scene = {
      image: { root, config, data: { uid, gid, mode } },
      folder,
      certificate,
      key,
      ...given,
    }
    const program = [process.execPath, ...process.execArgv, PROGRAM, JSON.stringify(scene)]
    const { NODE_TEST_CONTEXT: _testContext, ...env } = process.env
    // All processes of the scene end with its first one.
    const own = '--net --mount --pid --fork --kill-child --mount-proc'.split(' ')
    await promisify(execFile)('unshare', [...own, ...program], {
      env: { ...env, NODE_EXTRA_CA_CERTS: certificate },
    })
  })

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
