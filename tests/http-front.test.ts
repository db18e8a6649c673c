import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { cibaSetup } from '../packages/ciba/tests/harness.ts'
import { freePort } from '../packages/store/tests/servers/free-port.ts'
import { firstOutput } from './harness/first-output.ts'
import { COMMAND, machine } from './harness/process.ts'

const processes: ChildProcess[] = []
const disposed = new AsyncDisposableStack()
after(async () => {
  for (const child of processes) child.kill('SIGKILL')
  await disposed.disposeAsync()
})

/** Starts a program that serves, and resolves when it is ready. */
async function start(words: readonly string[], env: Record<string, string>): Promise<void> {
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const child = spawn(process.execPath, [...COMMAND, ...words, '--json'], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  processes.push(child)
  assert.match(await firstOutput(child), /"ready"/)
}

interface Sent {
  readonly method?: string
  readonly path: string
  readonly host: string
}

async function send(port: number, { method = 'GET', path, host }: Sent) {
  const sent = request({ host: '127.0.0.1', port, method, path, headers: { host }, agent: false })
  sent.end()
  const [response] = await once(sent, 'response')
  let body = ''
  for await (const chunk of response) body += String(chunk)
  return { status: response.statusCode as number, body }
}

const m = disposed.use(machine())
const setup = disposed.use(await cibaSetup())
const [service, metrics, console] = [await freePort(), await freePort(), await freePort()]
const BONDED_DATA_DIR = m.folder
await start(['serve'], {
  BONDED_DATA_DIR,
  BONDED_PORT: `${service}`,
  BONDED_METRICS_PORT: `${metrics}`,
})
await start(['console', '--listen', `127.0.0.1:${console}`], { BONDED_DATA_DIR })
await start(['ciba', 'serve', '--config', setup.file], {
  BONDED_SERVER_CREDENTIAL: setup.credential,
})
const ciba = Number(new URL(setup.issuer).port)

/** What every server has: a port, a page, and the name by which clients reach it. */
const SERVERS = {
  'the service': { port: service, path: '/health/ready', host: `localhost:${service}` },
  'the metrics listener': { port: metrics, path: '/metrics', host: `localhost:${metrics}` },
  'the console': { port: console, path: '/', host: `localhost:${console}` },
  'the OpenID provider': {
    port: ciba,
    path: '/.well-known/openid-configuration',
    host: `127.0.0.1:${ciba}`,
  },
}
const REJECTED = [403, 404, 405, 421]

for (const [name, { port, path, host }] of Object.entries(SERVERS)) {
  test(`${name} answers HEAD, a query, and a host in upper case as it answers GET`, async () => {
    const { status } = await send(port, { path, host })
    assert.ok(!REJECTED.includes(status), `${status}`)
    const variants = [{ path: `${path}?probe=1` }, { host: host.toUpperCase() }, { method: 'HEAD' }]
    for (const variant of variants) {
      const found = await send(port, { path, host, ...variant })
      assert.equal(found.status, status, JSON.stringify(variant))
      if ('method' in variant) assert.equal(found.body, '')
    }
  })

  test(`${name} answers a probe of its process, also by its address`, async () => {
    for (const host of [`127.0.0.1:${port}`, '10.0.0.7', `node-7.cluster.example:${port}`])
      for (const asked of ['/health/alive', '/health/alive?from=probe']) {
        const { status, body } = await send(port, { path: asked, host })
        assert.deepEqual([status, JSON.parse(body)], [200, { status: 'alive', reasons: [] }], host)
      }
    const head = await send(port, { method: 'HEAD', path: '/health/alive', host: '10.0.0.7' })
    assert.deepEqual(head, { status: 200, body: '' })
  })
}

test('a foreign name still reaches neither metrics nor pages of the console', async () => {
  const host = 'evil.example'
  assert.equal((await send(metrics, { path: '/metrics?x', host })).status, 403)
  for (const name of [host, `localhost:${console}@evil.example`, `${host}:${console}`])
    assert.equal((await send(console, { path: '/', host: name })).status, 421, name)
})
