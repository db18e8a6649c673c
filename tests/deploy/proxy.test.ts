import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { CREATE_TENANT, machine, until } from '../../packages/service/tests/harness/process.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const NGINX = ['/usr/sbin/nginx', '/usr/local/bin/nginx'].find((path) => existsSync(path))
// A worker of nginx writes to the folder of its master, so both are root.
const canProxy =
  process.getuid?.() === 0 && NGINX !== undefined && spawnSync('openssl', ['version']).status === 0
const skip = !canProxy && 'not root, or no nginx or openssl (apt-get install nginx-light openssl)'

const folder = mkdtempSync(join(tmpdir(), 'bonded-nginx-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The shipped configuration, with the ports and the certificate of the test. */
async function proxyTo(upstreamPort: number): Promise<{ port: number } & AsyncDisposable> {
  const [http, https] = [await freePort(), await freePort()]
  const home = mkdtempSync(join(folder, 'nginx-'))
  mkdirSync(join(home, 'logs'))
  const certificate = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=bond.example.com']
  const files = ['-keyout', join(home, 'key.pem'), '-out', join(home, 'cert.pem')]
  assert.equal(spawnSync('openssl', ['req', ...certificate, ...files]).status, 0)
  const shipped = readFileSync(join(ROOT, 'deploy/nginx/bonded.conf'), 'utf8')
    .replaceAll(/^\s*listen \[::\].*\n/gm, '')
    .replace('listen 80;', `listen 127.0.0.1:${http};`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${https} ssl`)
    .replace('server 127.0.0.1:8787', `server 127.0.0.1:${upstreamPort}`)
    .replace('/etc/nginx/bonded.crt', join(home, 'cert.pem'))
    .replace('/etc/nginx/bonded.key', join(home, 'key.pem'))
  const file = join(home, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${home}/${name};`)
    .join(' ')
  writeFileSync(
    file,
    `user root; daemon off; pid ${home}/nginx.pid; error_log ${home}/error.log; events {} http { ${temporary} ${shipped} }`,
  )
  const child = spawn(NGINX ?? '', ['-p', home, '-c', file], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  await until(async () => {
    const reply = await call(https, '/health/alive').catch(() => undefined)
    return reply === undefined ? undefined : true
  }, 20_000)
  return {
    port: https,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createTcpServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

function call(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: Call = {},
): Promise<{ status: number | undefined; text: string }> {
  const {
    promise,
    resolve: done,
    reject,
  } = Promise.withResolvers<{
    status: number | undefined
    text: string
  }>()
  // The certificate of the test is its own authority.
  const options = { host: '127.0.0.1', port, path, method, headers, rejectUnauthorized: false }
  const sent = request({ ...options, agent: false }, (reply) => {
    let text = ''
    reply.on('data', (chunk) => (text += String(chunk)))
    reply.on('end', () => done({ status: reply.statusCode, text }))
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

test('the proxy replaces X-Forwarded-For, passes the host, and rejects large bodies', {
  skip,
}, async () => {
  const upstream = createServer((received, response) =>
    response.end(JSON.stringify(received.headers)),
  ).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  using closing = new DisposableStack()
  closing.defer(() => upstream.close().closeAllConnections())
  await using proxy = await proxyTo((upstream.address() as AddressInfo).port)
  const headers = { 'x-forwarded-for': '203.0.113.9', host: 'bond.example.com' }
  const { text } = await call(proxy.port, '/any', { headers })
  const passed = JSON.parse(text) as Record<string, string>
  assert.deepEqual(
    [passed['x-forwarded-for'], passed['x-forwarded-proto'], passed.host, passed.upgrade],
    ['127.0.0.1', 'https', 'bond.example.com', undefined],
  )
  const large = { method: 'POST', body: Buffer.alloc(1_100_000) }
  assert.equal((await call(proxy.port, '/any', large)).status, 413)
  const permitted = { method: 'POST', body: Buffer.alloc(900_000) }
  assert.equal((await call(proxy.port, '/any', permitted)).status, 200)
})

test('a page follows its session through the proxy over a WebSocket', { skip }, async () => {
  using m = machine({ env: { BONDED_TRUST_PROXY: '1' } })
  await using service = await m.serve()
  const { server_credential } = await m.jsonMeanwhile(...CREATE_TENANT)
  await using proxy = await proxyTo(Number(new URL(service.origin).port))
  const headers = { authorization: `Bearer ${server_credential}` }
  const created = await call(proxy.port, '/api/v1/sessions', { method: 'POST', headers })
  assert.equal(created.status, 201, created.text)
  const { id, watch_token } = JSON.parse(created.text) as { id: string; watch_token: string }
  const socket = new WebSocket(
    `wss://127.0.0.1:${proxy.port}/sessions/${id}`,
    ['bonded.v1', `watch.${watch_token}`],
    { rejectUnauthorized: false },
  )
  const [frame] = (await once(socket, 'message')) as [Buffer]
  assert.equal((JSON.parse(String(frame)) as { state: string }).state, 'pending')
  const closed = once(socket, 'close')
  const killed = await call(proxy.port, `/api/v1/sessions/${id}`, { method: 'DELETE', headers })
  assert.equal(killed.status, 204)
  const [code] = (await closed) as [number]
  assert.equal(code, 1000)
})
