import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { ENDPOINTS } from '@bonded/contract'
import { readConfig as readCibaConfig } from '../../packages/ciba/src/config.ts'
import { newClient } from '../../packages/ciba/tests/harness.ts'
import { readAccess } from '../../packages/console/src/access.ts'
import { bondedProgram } from '../../packages/service/src/program.ts'

const DEPLOY = resolve(import.meta.dirname, '../../deploy')
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'bonded-parts-'))
after(() => rmSync(folder, { recursive: true }))

/** A file of a part, with a secret beside it and what the operator replaces. */
function fileOf(path: string): string {
  const { jwk } = newClient('invoice-agent')
  const text = read(path)
    .replace('SUBJECT_REF', 'x'.repeat(43))
    .replace('PUBLIC_KEY', JSON.stringify(jwk))
  writeFileSync(join(folder, 'client-secret'), 'a secret of the test')
  const file = join(folder, path.replaceAll('/', '-'))
  writeFileSync(file, text)
  return file
}
const access = readAccess(fileOf('kubernetes/console/access.yaml'))
const ciba = readCibaConfig(fileOf('kubernetes/ciba/ciba.yaml'))

/** What each part is, as its own command and configuration define it. */
const PARTS = [
  { name: 'console', config: 'access.yaml', port: 8450, origin: access.origin },
  { name: 'ciba', config: 'ciba.yaml', port: ciba.port, origin: ciba.issuer },
] as const

const { services } = parse(read('compose.yaml'))
const objectsOf = (name: string) =>
  parseAllDocuments(read(`kubernetes/${name}/manifests.yaml`)).map((each) => each.toJS())
const podOf = (name: string) => objectsOf(name)[0].spec.template.spec

for (const { name, config, port, origin } of PARTS) {
  const unit = read(`systemd/bonded-${name}.service`)
  const [, , ingress] = objectsOf(name)
  const [container] = podOf(name).containers
  const [, started = ''] = /^ExecStart=.*\/bonded\.js (.*)$/m.exec(unit) ?? []
  const compose = services[name]
  const ways: Readonly<Record<string, readonly string[]>> = {
    systemd: started.split(' '),
    Compose: compose.command,
    Kubernetes: container.args,
  }

  test(`${name}: each way starts a command that exists, with its options and its file`, async () => {
    for (const [way, words] of Object.entries(ways)) {
      const flags = words.findIndex((word) => word.startsWith('--'))
      let command = await bondedProgram({ name: words[0] })
      for (const word of words.slice(0, flags)) {
        const found = command.commands.find((each) => each.name() === word)
        assert.ok(found !== undefined, `${way}: ${words.join(' ')}`)
        command = found
      }
      for (const word of words.filter((each) => each.startsWith('--')))
        assert.ok(
          command.options.some(({ long }) => long === word),
          `${way}: ${word}`,
        )
      const [option] = words.filter((word) => word.endsWith(`/${config}`))
      const expected = way === 'systemd' ? `%d/${config}` : `/etc/bonded/${config}`
      assert.equal(option, expected, way)
      // In a container it must be reached from other machines, of each address family.
      const listens = name === 'ciba' ? `[${ciba.host}]:${ciba.port}` : words.at(-1)
      if (way !== 'systemd') assert.equal(listens, `[::]:${port}`, way)
    }
    assert.match(unit, new RegExp(`^LoadCredential=${config}:/etc/bonded/`, 'm'))
  })

  test(`${name}: its probes, its published port, and its proxy agree with the port it has`, () => {
    const { containerPort } = container.ports[0]
    assert.equal(containerPort, port)
    const probes = Object.entries(container).filter(([key]) => key.endsWith('Probe'))
    assert.ok(probes.length >= 2)
    for (const [, { httpGet }] of probes as [string, { httpGet: object }][])
      assert.deepEqual(httpGet, { path: ENDPOINTS.alive.path, port: 'http' })
    assert.deepEqual(compose.ports, [`127.0.0.1:${port}:${port}`])
    const program = ['/usr/local/bin/node', '/app/healthcheck.mjs']
    const check = ['CMD', ...program, String(port), ENDPOINTS.alive.path]
    assert.deepEqual(compose.healthcheck.test, check)
    const proxy = read(`nginx/bonded-${name}.conf`)
    assert.match(proxy, new RegExp(`^ *proxy_pass http://127\\.0\\.0\\.1:${port};$`, 'm'))
    const { hostname } = new URL(origin)
    assert.match(proxy, new RegExp(`^ *server_name ${hostname};$`, 'm'))
    assert.equal(ingress.spec.rules[0].host, hostname)
  })

  test(`${name}: Compose isolates it as the service, and starts it on demand only`, () => {
    const { bonded } = services
    assert.deepEqual(compose.profiles, [name])
    for (const key of ['build', 'user', 'read_only', 'cap_drop', 'security_opt', 'restart'])
      assert.deepEqual(compose[key], bonded[key], key)
    const [mounted] = compose.volumes as readonly string[]
    assert.equal(mounted, `./${name}:/etc/bonded:ro`)
    // The folder has secrets of the operator.
    for (const file of ['Dockerfile.dockerignore', '../.gitignore'])
      assert.match(read(file), new RegExp(`^deploy/${name}/?$`, 'm'))
  })
}

test('the console has the settings and the data of the service in each way', () => {
  const linesOf = (unit: string) =>
    [...unit.matchAll(/^(?:User|EnvironmentFile|UMask)=.*$|^StateDirectory=bonded\b/gm)]
      .concat([...unit.matchAll(/^Environment=(?!BONDED_DRAIN|NODE_COMPILE).*$/gm)])
      .map(([line]) => line)
      .toSorted()
  const console = linesOf(read('systemd/bonded-console.service'))
  assert.deepEqual(console, linesOf(read('systemd/bonded.service')))
  const own = services.console.environment
  for (const [key, value] of Object.entries(own))
    assert.equal(value, services.bonded.environment[key], key)
  for (const key of ['BONDED_DATABASE_URL', 'BONDED_ROOT_KEYS', 'BONDED_TRUST_PROXY'])
    assert.ok(key in own, key)
  const [{ envFrom }] = podOf('console').containers
  const [service] = parse(read('kubernetes/deployment.yaml')).spec.template.spec.containers
  assert.deepEqual(envFrom, service.envFrom)
})

test('only what migrates and backs up connects to the database of the compose file as its owner', () => {
  const rolesOf = ([name, { environment }]: [string, { environment?: Record<string, string> }]) => {
    const url = environment?.BONDED_DATABASE_URL
    const [, role, password] = /^postgres:\/\/(\w+):\$\{(\w+):/.exec(url ?? '') ?? []
    return url === undefined ? [] : [[name, role, password]]
  }
  assert.deepEqual(Object.entries<object>(services).flatMap(rolesOf), [
    ['bonded', 'bonded', 'POSTGRES_PASSWORD'],
    ['migrate', 'bonded_owner', 'POSTGRES_OWNER_PASSWORD'],
    ['tools', 'bonded_owner', 'POSTGRES_OWNER_PASSWORD'],
    ['console', 'bonded', 'POSTGRES_PASSWORD'],
  ])
})

test('the OpenID provider has neither the account, the keys, nor the database of the service', () => {
  const unit = read('systemd/bonded-ciba.service')
  for (const line of ['DynamicUser=yes', 'User=bonded-ciba', 'StateDirectory=bonded-ciba'])
    assert.match(unit, new RegExp(`^${line}$`, 'm'))
  assert.doesNotMatch(unit, /bonded\.(env|yaml)/)
  assert.deepEqual(Object.keys(services.ciba.environment), ['BONDED_SERVER_CREDENTIAL'])
  assert.deepEqual(services.ciba.networks, ['front'])
  const { containers, volumes } = podOf('ciba')
  const [{ env, envFrom }] = containers
  assert.deepEqual(
    [env.map((each: { name: string }) => each.name), envFrom],
    [['BONDED_SERVER_CREDENTIAL'], undefined],
  )
  assert.ok(!JSON.stringify(volumes).includes('"secretName"'), 'it mounts no secret')
})
