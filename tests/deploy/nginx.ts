import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { until } from '../harness/process.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'

const SHIPPED = resolve(import.meta.dirname, '../../deploy/nginx')
const NGINX = ['/usr/sbin/nginx', '/usr/local/bin/nginx'].find((path) => existsSync(path))
// A worker of nginx writes to the folder of its master, so both are root.
const canProxy =
  process.getuid?.() === 0 && NGINX !== undefined && spawnSync('openssl', ['version']).status === 0

/** Why tests with nginx cannot run, or false. */
export const skipWithoutNginx =
  !canProxy && 'not root, or no nginx or openssl (apt-get install nginx-light openssl)'

export interface Nginx extends AsyncDisposable {
  /** The port for HTTPS on 127.0.0.1. Its certificate is its own authority. */
  readonly port: number
  /** All that nginx has logged. */
  readonly logs: () => string
}

/**
 * Starts nginx with the shipped files. Replaced are only what belongs to a machine: ports, nodes,
 * paths, the certificate, and the user.
 *
 * @param upstreamPorts the ports of the nodes on 127.0.0.1
 * @param options.timeouts of headers and bodies, in place of the shipped ones, such as `60s`
 * @param options.parts the ports of parts on 127.0.0.1, whose files are included too
 */
export async function startNginx(
  upstreamPorts: readonly number[],
  {
    timeouts,
    parts = {},
  }: {
    readonly timeouts?: string
    readonly parts?: Readonly<Record<string, number>>
  } = {},
): Promise<Nginx> {
  const home = mkdtempSync(join(tmpdir(), 'bonded-nginx-'))
  mkdirSync(join(home, 'logs'))
  const [http, https] = [await freePort(), await freePort()]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const certificate = ['-x509', ...key, '-subj', '/CN=bond.example.com']
  const files = ['-keyout', join(home, 'key.pem'), '-out', join(home, 'cert.pem')]
  assert.equal(spawnSync('openssl', ['req', ...certificate, ...files]).status, 0)
  const nodes = upstreamPorts.map((port) => `server 127.0.0.1:${port} max_fails=1 fail_timeout=2s;`)
  const site = (name: string) =>
    readFileSync(join(SHIPPED, name), 'utf8')
      .replaceAll(/^\s*listen \[::\].*\n/gm, '')
      .replace('listen 80;', `listen 127.0.0.1:${http};`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${https} ssl`)
      .replace(/\/etc\/nginx\/bonded(-\w+)?\.crt/, join(home, 'cert.pem'))
      .replace(/\/etc\/nginx\/bonded(-\w+)?\.key/, join(home, 'key.pem'))
      .replaceAll('/var/log/nginx', join(home, 'logs'))
  const service = site('bonded.conf')
    .replace('server 127.0.0.1:8787 max_fails=1 fail_timeout=2s;', nodes.join(' '))
    .replaceAll(/(client_(?:header|body)_timeout) \w+/g, (shipped, name) =>
      timeouts === undefined ? shipped : `${name} ${timeouts}`,
    )
  writeFileSync(join(home, 'bonded.conf'), service)
  for (const [name, port] of Object.entries(parts)) {
    const file = `bonded-${name}.conf`
    const own = site(file).replace(/127\.0\.0\.1:\d+;$/m, `127.0.0.1:${port};`)
    writeFileSync(join(home, file), own.replace('allow 192.0.2.0/24', 'allow 127.0.0.1'))
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${home}/${name};`)
    .join(' ')
  const main = readFileSync(join(SHIPPED, 'nginx.conf'), 'utf8')
    .replace('user www-data;', 'user root; daemon off;')
    .replace('/run/nginx.pid', join(home, 'nginx.pid'))
    .replaceAll('/var/log/nginx', join(home, 'logs'))
    .replace('include /etc/nginx/bonded.conf;', `${temporary} include ${home}/bonded.conf;`)
    .replace('/etc/nginx/bonded-*', `${home}/bonded-*`)
  const file = join(home, 'nginx.conf')
  writeFileSync(file, main)
  const child = spawn(NGINX ?? '', ['-p', home, '-c', file], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  await until(async () => {
    const reply = await call(https, '/health/alive').catch(() => undefined)
    return reply === undefined ? undefined : true
  }, 20_000)
  return {
    port: https,
    logs: () =>
      ['error.log', 'bonded.log']
        .map((name) => join(home, 'logs', name))
        .map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : ''))
        .join(''),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** The client's address, of the loopback range. */
  readonly localAddress?: string
}

/** Makes one call over a connection of its own. */
export function call(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body, localAddress }: Call = {},
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const {
    promise,
    resolve: done,
    reject,
  } = Promise.withResolvers<{
    readonly status: number | undefined
    readonly text: string
  }>()
  const options = { host: '127.0.0.1', port, path, method, headers, localAddress }
  const sent = request({ ...options, rejectUnauthorized: false, agent: false }, (reply) => {
    let text = ''
    reply.on('data', (chunk) => (text += String(chunk)))
    reply.on('end', () => done({ status: reply.statusCode, text }))
    reply.on('error', reject)
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}
