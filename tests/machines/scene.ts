import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DETAILS, newClient } from '../../packages/ciba/tests/harness.ts'
import { CLIENT, honestProvider } from '../../packages/console/tests/honest-provider.ts'
import { startPostgres } from '../../packages/store/tests/servers/postgres.ts'
import { noIpv6Filter } from '../harness/no-ipv6.ts'
import { until } from '../harness/process.ts'
import type { BuiltImage } from './built-image.ts'
import { compose, type Container, kubernetes } from './containers.ts'
import { ROOT } from './copy-repository.ts'
import { isolated } from './isolated.ts'
import { approveForClient, bondOnPage, ORIGINS, visit } from './visitors.ts'

/*
 * A program: deploys the image with everything around it, as its files in `deploy` say, and uses
 * it. It has a network and mounts of its own, in which it makes the addresses and the names.
 */

/** What the program gets as its argument. */
export interface Scene {
  readonly image: Pick<BuiltImage, 'root' | 'config' | 'data'>
  /** An empty folder that every user enters. */
  readonly folder: string
  /** The certificate of all names, which is its own authority, and its key. */
  readonly certificate: string
  readonly key: string
  readonly way: 'compose' | 'kubernetes' | 'openshift'
  /** The only family of addresses, except for the loopback interface. */
  readonly only?: 'IPv4' | 'IPv6'
}

const DEPLOY = join(ROOT, 'deploy')
/** The base images set it. */
const PATH = 'PATH=/usr/local/bin:/usr/bin:/bin'
const WAIT_MS = 120_000
const WORKFLOWS = [
  { name: 'page', actions: ['act'] },
  { name: 'agent_payments', actions: ['transfer'], delivery: 'inbox' },
]
const scene = JSON.parse(process.argv[2] ?? '') as Scene
const { image, folder, certificate, way, only } = scene
const address = only === 'IPv6' ? 'fd00::2' : only === 'IPv4' ? '10.99.0.2' : '127.0.0.1'
const host = only === 'IPv6' ? `[${address}]` : address
/** The database is on the loopback interface, of the same family. */
const loopback = only === 'IPv6' ? '::1' : '127.0.0.1'

makeNetwork()
await using postgres = await startPostgres({ listen_addresses: '127.0.0.1,::1' })
const variables = makeRoles()
const urlOf = (role: string, password: string) =>
  `postgres://${role}:${password}@${loopback === '::1' ? '[::1]' : loopback}:${postgres.port}/bonded?sslmode=disable`
await using signIn = await honestProvider(ORIGINS.console)
signIn.operator.groups = ['bonded-operators']

const { privateKey } = generateKeyPairSync('ed25519')
const receipts = {
  'receipt-keys.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}
// The values of the operator, some of which exist only when the service runs.
const secrets: Record<string, Record<string, string>> = {
  bonded: {
    BONDED_DATABASE_URL: urlOf('bonded', variables.POSTGRES_PASSWORD),
    BONDED_ROOT_KEYS: variables.BONDED_ROOT_KEYS,
    ...receipts,
  },
  'bonded-migrate': {
    BONDED_DATABASE_URL: urlOf('bonded_owner', variables.POSTGRES_OWNER_PASSWORD),
  },
  'bonded-console': { 'client-secret': CLIENT.client_secret },
}
const given: Record<string, string> = { ...variables }
const files: Record<string, Record<string, string>> = {
  receipts,
  console: {
    'client-secret': CLIENT.client_secret,
    'access.yaml': readFileSync(join(DEPLOY, 'kubernetes/console/access.yaml'), 'utf8')
      .replace('https://login.example.com', signIn.issuer)
      .replace('client_id: bonded-console', `client_id: ${CLIENT.client_id}`),
  },
}
const platform = { image, folder, secrets, files }
const containerOf = (name: string): Container =>
  way === 'compose'
    ? compose(platform, given)(name)
    : kubernetes(platform, { openshift: way === 'openshift' })(name)
const outputs = new Map<string, string>()

try {
  assert.equal(exec(containerOf('migrate')), '', 'the migration')
  const service = await start('bonded')
  startNginx()
  await until(
    async () => ((await statusOf(`${host}:8787/health/ready`)) === 200 ? true : undefined),
    WAIT_MS,
  )

  const [data = ''] = service.writable.map(([from]) => from)
  writeFileSync(join(data, 'workflows.json'), JSON.stringify(WORKFLOWS), { mode: 0o644 })
  const create =
    'bonded tenant create --operator test --name A --environment sandbox --origin https://a.example --json --workflow-file /data/workflows.json'
  const tenant = JSON.parse(exec({ ...service, command: create.split(' ') })) as {
    readonly tenant_id: string
    readonly server_credential: string
  }

  const { phone, subject } = await bondOnPage(tenant.server_credential)

  // An approval in the inbox of the phone, for a client of the OpenID provider.
  const client = newClient('invoice-agent')
  files['ciba'] = {
    'ciba.yaml': readFileSync(join(DEPLOY, 'kubernetes/ciba/ciba.yaml'), 'utf8')
      .replace('SUBJECT_REF', subject)
      .replace('PUBLIC_KEY', JSON.stringify(client.jwk)),
  }
  const credential = { BONDED_SERVER_CREDENTIAL: tenant.server_credential }
  secrets['bonded-ciba'] = credential
  Object.assign(given, credential)
  await start('ciba')
  await until(
    async () => ((await statusOf(`${host}:8790/health/alive`)) === 200 ? true : undefined),
    WAIT_MS,
  )
  assert.deepEqual(await approveForClient(client, { phone, subject }), [DETAILS])

  // An operator who signs in to the console.
  await start('console')
  await until(
    async () => ((await statusOf(`${host}:8450/health/alive`)) === 200 ? true : undefined),
    WAIT_MS,
  )
  const page = await visit(`${ORIGINS.console}/tenants/${tenant.tenant_id}`)
  assert.equal(page.status, 200, await page.text())

  for (const name of ['bonded', 'console', 'ciba']) {
    const container = containerOf(name)
    if (container.check) exec({ ...container, command: container.check })
    for (const probe of container.probes)
      assert.equal(await statusOf(`${host}:${probe}`), 200, probe)
  }
  assert.equal(await statusOf(`${host}:9464/metrics`), 200)
} catch (failure) {
  for (const [name, output] of outputs) process.stderr.write(`${name}:\n${output}\n`)
  throw failure
}
process.exit(0)

/** Makes the addresses of the family, and the names that they have. */
function makeNetwork(): void {
  const ip = (...words: string[]) => execFileSync('ip', words)
  ip('link', 'set', 'lo', 'up')
  if (only === 'IPv4') writeFileSync('/proc/sys/net/ipv6/conf/all/disable_ipv6', '1')
  if (only !== undefined)
    ip('address', 'add', `${address}/${only === 'IPv6' ? 128 : 32}`, 'dev', 'lo')
  const names = ['bond', 'console', 'approve'].map((name) => `${name}.example.com`)
  const hosts = join(folder, 'hosts')
  writeFileSync(hosts, `127.0.0.1 localhost\n${address} ${names.join(' ')}\n${loopback} postgres\n`)
  execFileSync('mount', ['--bind', hosts, '/etc/hosts'])
}

/** The roles and the database of Compose, whose variables these are. */
function makeRoles() {
  const made = {
    BONDED_PUBLIC_ORIGIN: 'https://bond.example.com',
    BONDED_ROOT_KEYS: 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE',
    POSTGRES_PASSWORD: 'abc123',
    POSTGRES_OWNER_PASSWORD: 'def456',
  }
  execFileSync('sh', [join(DEPLOY, 'postgres-role.sh')], {
    env: {
      PATH: process.env['PATH'],
      PGHOST: '127.0.0.1',
      PGPORT: String(postgres.port),
      POSTGRES_PASSWORD: made.POSTGRES_OWNER_PASSWORD,
      BONDED_RUNTIME_PASSWORD: made.POSTGRES_PASSWORD,
    },
  })
  return made
}

/** The arguments of setpriv, and the files that a platform adds to each container. */
function processOf({ mounts, env, command, ...container }: Container) {
  const authority = 'NODE_EXTRA_CA_CERTS=/etc/authority.pem'
  // The port of PostgreSQL is that of the test.
  const own = env.map((text) => text.replace('@postgres:5432/', `@postgres:${postgres.port}/`))
  const words = isolated({
    ...container,
    root: image.root,
    env: [PATH, ...own, authority],
    mounts: [...mounts, [join(folder, 'hosts'), '/etc/hosts'], [certificate, '/etc/authority.pem']],
    command,
    filter: only === 'IPv4' ? 3 : undefined,
  })
  const filter = only === 'IPv4' ? [openSync(noIpv6Filter(folder), 'r')] : []
  return { words, stdio: ['ignore', 'pipe', 'pipe', ...filter] as ('ignore' | 'pipe' | number)[] }
}

/** Runs a container to its end. */
function exec(container: Container): string {
  const { words, stdio } = processOf(container)
  const ran = spawnSync('setpriv', words, { stdio, encoding: 'utf8' })
  assert.equal(ran.status, 0, `${container.command.join(' ')}: ${ran.stdout}${ran.stderr}`)
  return container.command.includes('--json') ? ran.stdout : ''
}

async function start(name: string): Promise<Container> {
  const container = containerOf(name)
  const { words, stdio } = processOf(container)
  const child = spawn('setpriv', words, { stdio })
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => outputs.set(name, `${outputs.get(name) ?? ''}${String(chunk)}`))
  child.on('exit', (code) => assert.fail(`${name} ended with ${code}: ${outputs.get(name)}`))
  return container
}

async function statusOf(target: string): Promise<number | undefined> {
  return fetch(`http://${target}`).then(
    ({ status }) => status,
    () => undefined,
  )
}

/** nginx with the shipped files, in which only addresses and paths of a machine are replaced. */
function startNginx(): void {
  const upstream = way === 'compose' ? '127.0.0.1' : host
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  for (const name of ['bonded.conf', 'bonded-console.conf', 'bonded-ciba.conf'])
    write(
      name,
      readFileSync(join(DEPLOY, 'nginx', name), 'utf8')
        .replace(/\/etc\/nginx\/bonded[\w-]*\.crt/, certificate)
        .replace(/\/etc\/nginx\/bonded[\w-]*\.key/, scene.key)
        .replaceAll(/127\.0\.0\.1:(\d+)/g, `${upstream}:$1`)
        .replace('allow 192.0.2.0/24', 'allow all')
        .replaceAll('/var/log/nginx', folder),
    )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/temp-${name};`)
    .join(' ')
  write(
    'nginx.conf',
    readFileSync(join(DEPLOY, 'nginx/nginx.conf'), 'utf8')
      .replace('user www-data;', 'user root; daemon off;')
      .replace('/run/nginx.pid', `${folder}/nginx.pid`)
      .replaceAll('/var/log/nginx', folder)
      .replace('http {', `http { ${temporary}`)
      .replaceAll('/etc/nginx', folder),
  )
  spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: 'inherit',
    env: { PATH: `${process.env['PATH']}:/usr/sbin` },
  })
}
