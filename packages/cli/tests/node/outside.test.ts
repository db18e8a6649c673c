import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { freePort } from '../../../store/tests/servers/free-port.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import type { ScriptSource } from '../../../server/src/http/pages/hosted-script.ts'
import { type Known, LOOKS, outsideOf } from '../../src/node/outside/look.ts'

/** What a proxy does wrong. */
interface Faults {
  readonly appendsForwarded?: true
  readonly dropsUpgrades?: true
  readonly changesScripts?: true
}

/** Starts a proxy, which forwards to the port that `target` has then. */
async function startProxy(port: number, target: () => number, faults: Faults = {}) {
  const forward = (incoming: IncomingMessage, headers: NodeJS.Dict<string | string[]>) => {
    const forged = incoming.headers['x-forwarded-for']
    const address = incoming.socket.remoteAddress ?? ''
    const named = faults.appendsForwarded && forged ? `${String(forged)}, ${address}` : address
    const { method = '', url = '' } = incoming
    return request({
      host: '127.0.0.1',
      port: target(),
      method,
      path: url,
      agent: false,
      headers: { ...headers, 'x-forwarded-for': named },
    }).end()
  }
  const server = createServer((incoming, outgoing) => {
    const { connection: _connection, upgrade: _upgrade, ...headers } = incoming.headers
    const answer = async (response: IncomingMessage) => {
      const body = await buffer(response)
      const isChanged = faults.changesScripts && incoming.url?.endsWith('.js')
      const { 'content-length': _length, ...kept } = response.headers
      outgoing.writeHead(response.statusCode ?? 0, kept)
      outgoing.end(isChanged ? Buffer.concat([body, Buffer.from('\n')]) : body)
    }
    forward(incoming, headers).on('response', (response) => void answer(response))
  })
  if (faults.dropsUpgrades !== true)
    server.on('upgrade', (incoming, socket) => {
      const answer = async (response: IncomingMessage) => {
        const body = await buffer(response)
        socket.end(`HTTP/1.1 ${response.statusCode} No\r\n\r\n${body.toString()}`)
      }
      forward(incoming, incoming.headers).on('response', (response) => void answer(response))
    })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const source = 'export {}'
const integrity = `sha384-${createHash('sha384').update(source).digest('base64')}`
const SCRIPT: ScriptSource = {
  version: '0.0.0',
  load: async () => ({ source, integrity, sourceMap: '{}', files: [] }),
}
const publicPort = await freePort()
const h: Harness = await harness({
  hosting: { port: await freePort(), publicPort, script: SCRIPT },
  limits: USUAL_LIMITS,
  trustedProxies: 1,
})
const other: Harness = await harness({
  hosting: { port: await freePort(), publicPort, script: SCRIPT },
})
after(async () => {
  await h[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

const { publicOrigin, rpId, relatedOrigins, trustedProxies } = h.service.settings
const KNOWN: Known = {
  config: {
    publicOrigin,
    rpId: rpId ?? '',
    relatedOrigins: relatedOrigins ?? false,
    trustedProxies,
    environment: 'production',
  },
  runsHere: true,
  receiptKeys: h.service.receiptSigner?.publicKeys,
  tenantId: h.shop.tenant.id,
  now: Date.now(),
}

/** Every look by its name: what it says, or its problem. */
async function looks(known: Known = KNOWN): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  const lookAt = await outsideOf(known)
  for (const [name, look] of LOOKS)
    found[name] = await lookAt(look).then(
      ({ says, warnings = [] }) => [says, ...warnings].join(' '),
      (failure: Error) => `PROBLEM ${failure.message}`,
    )
  return found
}

test('finds no problem behind a proxy that forwards as it should', async (t) => {
  const proxy = await startProxy(publicPort, () => h.running.port)
  t.after(() => proxy[Symbol.asyncDispose]())
  const found = await looks()
  assert.deepEqual(
    Object.entries(found).filter(([, text]) => text.startsWith('PROBLEM')),
    [],
  )
  assert.match(found['script'] ?? '', /arrives unchanged/)
})

for (const [fault, name, problem] of [
  [{ appendsForwarded: true }, 'proxy', /PROBLEM .*forged X-Forwarded-For/],
  [{ dropsUpgrades: true }, 'channel', /PROBLEM .*WebSocket upgrades/],
  [{ changesScripts: true }, 'script', /PROBLEM .*not the script that the service sends/],
] as const)
  test(`finds a proxy that ${Object.keys(fault)[0]}`, async (t) => {
    // One proxy more than there are is trusted.
    const trusting = await harness({
      hosting: { port: await freePort(), publicPort, script: SCRIPT },
      limits: USUAL_LIMITS,
      trustedProxies: 2,
    })
    const proxy = await startProxy(publicPort, () => trusting.running.port, fault)
    t.after(() => proxy[Symbol.asyncDispose]())
    const known = { ...KNOWN, tenantId: trusting.shop.tenant.id }
    assert.match((await looks(known))[name] ?? '', problem)
    await trusting[Symbol.asyncDispose]()
  })

test('finds a running node with another database, other settings, or other keys', async (t) => {
  const proxy = await startProxy(publicPort, () => other.running.port)
  t.after(() => proxy[Symbol.asyncDispose]())
  const origin = async (known: Known) => (await looks(known))['public origin'] ?? ''
  assert.match(await origin(KNOWN), /PROBLEM .*runs on another database/)
  const config = { ...KNOWN.config, rpId: 'example.com' }
  assert.match(await origin({ ...KNOWN, config }), /PROBLEM .*has the RP ID 127\.0\.0\.1/)
  const receiptKeys = [{ kid: 'another' }] as unknown as Known['receiptKeys']
  assert.match(await origin({ ...KNOWN, receiptKeys }), /PROBLEM .*with other keys/)
})

test('finds an origin that is of another program, of another node, or closed', async () => {
  const found = async (known = KNOWN) => (await looks(known))['public origin'] ?? ''
  assert.match(await found(), /PROBLEM .*cannot be reached.*its port is closed/)
  assert.match(await found({ ...KNOWN, runsHere: false }), /^Nothing answers.*cannot be reached/)
  let status = 200
  const page = createServer((_request, response) => {
    response.writeHead(status).end('<h1>Welcome</h1>')
  })
  page.listen(publicPort, '127.0.0.1')
  await once(page, 'listening')
  assert.match(await found(), /PROBLEM .*is not this service/)
  // The answer of a proxy in front of a service that is stopped, as for a restore.
  status = 502
  assert.match(await found({ ...KNOWN, runsHere: false }), /^Nothing answers.*proxy returned 502/)
  assert.match(await found(), /PROBLEM .*is not this service/)
  page.closeAllConnections()
  page.close()
  await once(page, 'close')
  const config = { ...KNOWN.config, publicOrigin: `http://127.0.0.1:${h.running.port}` }
  assert.match(await found({ ...KNOWN, config }), /PROBLEM .*has the public origin http/)
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
test('reads the days of the certificate, and asks for a trusted proxy in front', {
  skip: !hasOpenssl && 'no openssl: apt-get install openssl',
}, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'bonded-outside-'))
  const [key, cert] = [join(home, 'key.pem'), join(home, 'cert.pem')]
  const options = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9'
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = spawnSync('openssl', [
    'req',
    ...options.split(' '),
    ...subject,
    '-keyout',
    key,
    '-out',
    cert,
  ])
  assert.equal(made.status, 0)
  const answer: RequestListener = (_request, response) =>
    response.setHeader('x-request-id', 'req_1').end('{"status":"alive"}')
  const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer)
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(home, { recursive: true })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const config = { ...KNOWN.config, publicOrigin: `https://localhost:${port}`, trustedProxies: 0 }
  const ca = readFileSync(cert, 'utf8')
  const found = await looks({ ...KNOWN, config, ca })
  assert.match(found['certificate'] ?? '', /valid for [89] days.*ends in [89] days/)
  assert.match(found['proxy'] ?? '', /PROBLEM .*BONDED_TRUST_PROXY is 0/)
  const untrusted = await looks({ ...KNOWN, config })
  assert.match(untrusted['public origin'] ?? '', /PROBLEM .*certificate is not valid/)
})
