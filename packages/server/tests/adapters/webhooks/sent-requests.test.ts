import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { WebhookMessage } from '@bonded/core/ports/webhooks'
import type { PushKey } from '@bonded/core/ports/push'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { pushTransport } from '../../../src/adapters/push/push-transport.ts'
import { httpsTransport } from '../../../src/adapters/webhooks/https-transport.ts'

const NEVER = new AbortController().signal
const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
) as { version: string }
const keys = keyringOf([{ id: 'k1', bytes: Buffer.alloc(32, 1) }])
const key = keys.pushKeys.open(keys.pushKeys.create())?.key as PushKey

/** A receiver whose connections need no TLS, and the requests that it has got. */
async function receiver(
  answer: (response: ServerResponse, request: IncomingMessage) => void = (response) =>
    void response.end(),
) {
  const requests: { method: string; path: string; headers: object; body: string }[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      requests.push({ method, path: url, headers, body })
      answer(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  return {
    requests,
    port,
    /** A socket for each attempt, whatever address the sender has checked. */
    connect: () => {
      const socket = net.connect(port, '127.0.0.1')
      sockets.push(socket)
      return socket
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
        for (const socket of sockets) socket.destroy()
      }),
  }
}

const resolve = async () => ['93.184.215.14']
const clock = new TestClock()
const MESSAGE: WebhookMessage = {
  id: 'evt_1',
  url: 'https://hooks.example/a/b?c=d',
  body: '{"ö":1}',
  scheme: 'v1',
  secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
}

test('a webhook is a POST of its body to its path, with its signature and who sends it', async () => {
  await using to = await receiver()
  const transport = httpsTransport({ clock, hosts: [], resolve, connect: to.connect })
  assert.deepEqual(await transport.send(MESSAGE, NEVER), { status: 200, body: '' })
  const [{ method, path, body, headers } = assert.fail()] = to.requests
  assert.deepEqual([method, path, body], ['POST', '/a/b?c=d', '{"ö":1}'])
  const {
    'webhook-signature': signature,
    connection: _connection,
    ...others
  } = headers as Record<string, string>
  assert.match(signature ?? '', /^v1,[\w+/]{43}=$/)
  assert.deepEqual(others, {
    host: 'hooks.example',
    'content-type': 'application/json',
    'content-length': '8',
    'user-agent': `bonded-sessions/${version}`,
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(clock.now() / 1_000)),
  })
})

test('a wake-up has no body, and the headers by which a push service handles it', async () => {
  await using to = await receiver((response) => void response.writeHead(201).end('created'))
  const transport = pushTransport({ clock, hosts: [], resolve, connect: to.connect })
  const endpoint = 'https://updates.push.services.mozilla.com/wpush/v2/a'
  const contact = 'https://bond.example'
  assert.deepEqual(await transport.send({ endpoint, key, contact }, NEVER), {
    status: 201,
    body: 'c',
  })
  const [{ method, path, body, headers } = assert.fail()] = to.requests
  assert.deepEqual([method, path, body], ['POST', '/wpush/v2/a', ''])
  const {
    authorization = '',
    connection: _connection,
    ...others
  } = headers as Record<string, string>
  assert.deepEqual(others, {
    host: 'updates.push.services.mozilla.com',
    ttl: '600',
    urgency: 'high',
    topic: 'inbox',
    'content-length': '0',
    'user-agent': `bonded-sessions/${version}`,
  })
  // RFC 8292: the key is in the header, and signs for the origin of the push service.
  const [, token = '', point = ''] = /^vapid t=([\w.-]+), k=([\w-]{87})$/.exec(authorization) ?? []
  assert.equal(point, key.publicKey)
  const [head = '', claims = '', signature = ''] = token.split('.')
  const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())
  assert.deepEqual(read(head), { alg: 'ES256', typ: 'JWT' })
  assert.deepEqual(read(claims), {
    aud: 'https://updates.push.services.mozilla.com',
    exp: Math.floor(clock.now() / 1_000) + 3_600,
    sub: contact,
  })
  const bytes = Buffer.from(point, 'base64url')
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: bytes.subarray(1, 33).toString('base64url'),
    y: bytes.subarray(33).toString('base64url'),
  }
  assert.ok(
    verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    ),
  )
})

test('a push service is known by its host, and an endpoint says what is wrong with it', () => {
  const transport = pushTransport({ clock, hosts: ['push.bank.example'], resolve })
  for (const [host, service] of [
    ['fcm.googleapis.com', 'fcm.googleapis.com'],
    ['updates.push.services.mozilla.com', 'updates.push.services.mozilla.com'],
    ['wns2-par02p.notify.windows.com', '*.notify.windows.com'],
    ['web.push.apple.com', 'web.push.apple.com'],
    ['push.bank.example', 'push.bank.example'],
    ['notify.windows.com', undefined],
    ['notnotify.windows.com', undefined],
    ['a.web.push.apple.com', undefined],
    ['bank.example', undefined],
  ] as const) {
    assert.equal(transport.serviceOf(`https://${host}/a`), service, host)
    assert.equal(
      transport.endpointProblem(`https://${host}/a`),
      service === undefined ? 'its host is no known push service' : undefined,
    )
  }
  assert.equal(transport.endpointProblem('http://fcm.googleapis.com/a'), 'it is not an https URL')
  assert.equal(
    transport.endpointProblem('https://fcm.googleapis.com:8443/a'),
    'its port is not 443',
  )
})

test('each URL that no webhook reaches has a problem of its own', () => {
  const transport = httpsTransport({ clock, hosts: ['hooks.internal:8080', '[fd00::1]:443'] })
  const long = `https://hooks.example/${'a'.repeat(2_048 - 22)}`
  for (const [url, problem] of [
    ['https://hooks.example/', undefined],
    ['https://hooks.example:443/', undefined],
    [long, undefined],
    ['https://93.184.215.14/', undefined],
    ['https://[2606:4700::1111]/', undefined],
    [`${long}a`, 'it is not a URL'],
    ['hooks.example', 'it is not a URL'],
    ['https://hooks.example/a b', 'it has a space or a hidden character'],
    ['https://hooks.example/\u200b', 'it has a space or a hidden character'],
    ['ftp://hooks.example/', 'it is not an https URL'],
    ['http://hooks.example/', 'it is not an https URL'],
    ['https://user@hooks.example/', 'it has a user name or a password'],
    ['https://:word@hooks.example/', 'it has a user name or a password'],
    ['https://hooks.example/#a', 'it has a fragment'],
    ['https://hooks.example:8443/', 'its port is not 443'],
    ['https://10.0.0.1/', 'its address is not public'],
    ['https://[fd00::2]/', 'its address is not public'],
    ['http://hooks.internal:8080/', 'only the operator can register this host'],
    ['https://[fd00::1]/', 'only the operator can register this host'],
    ['http://hooks.internal/', 'it is not an https URL'],
  ] as const) {
    assert.equal(transport.urlProblem(url, 'tenant'), problem, url)
    const isReserved = problem?.startsWith('only the operator') === true
    assert.equal(transport.urlProblem(url, 'operator'), isReserved ? undefined : problem, url)
  }
})

test('of a response the status counts, the time to wait, and the beginning without null characters', async () => {
  const BODY = `a\0${'b'.repeat(20_000)}`
  for (const [answer, expected] of [
    [
      (response: ServerResponse) => response.writeHead(503, { 'retry-after': '120' }).end('busy'),
      { status: 503, body: 'busy', retryAfterMs: 120_000 },
    ],
    [(response: ServerResponse) => response.writeHead(410).end(), { status: 410, body: '' }],
    [
      // It announces more than it sends, and ends its connection.
      (response: ServerResponse, request: IncomingMessage) => {
        response.writeHead(202, { 'content-length': '100' }).write('half')
        request.socket.end()
      },
      { status: 202, body: 'half' },
    ],
  ] as const) {
    await using to = await receiver(answer)
    const transport = httpsTransport({ clock, hosts: [], resolve, connect: to.connect })
    assert.deepEqual(await transport.send(MESSAGE, NEVER), expected)
  }
  await using to = await receiver((response) => void response.end(BODY))
  const transport = httpsTransport({ clock, hosts: [], resolve, connect: to.connect })
  const result = await transport.send(MESSAGE, NEVER)
  assert.ok('body' in result && /^ab+$/.test(result.body) && result.body.length < 20_000)
})

test('an attempt ends when its sender stops, and after fifteen seconds', async () => {
  const after = async (end: (stop: AbortController, time: TestClock) => void) => {
    const begun = Promise.withResolvers<void>()
    await using to = await receiver(() => begun.resolve())
    const time = new TestClock()
    const stop = new AbortController()
    const transport = httpsTransport({ clock: time, hosts: [], resolve, connect: to.connect })
    const result = transport.send(MESSAGE, stop.signal)
    await begun.promise
    end(stop, time)
    return await result
  }
  assert.deepEqual(await after((stop) => stop.abort()), { error: 'closed_early' })
  assert.deepEqual(await after((_stop, time) => time.advance(15_000)), { error: 'timed_out' })
  const early = after((stop, time) => {
    time.advance(14_999)
    stop.abort()
  })
  assert.deepEqual(await early, { error: 'closed_early' })
})

test('a failure is named for what an operator can do about it', async () => {
  const failing = (code: string) => () => {
    throw Object.assign(new Error(code), { code })
  }
  for (const [code, error] of [
    ['ENOTFOUND', 'name_not_found'],
    ['ENODATA', 'name_not_found'],
    ['EAI_AGAIN', 'name_not_found'],
    ['ESERVFAIL', 'name_not_found'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'intermediate_missing'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'intermediate_missing'],
    ['CERT_HAS_EXPIRED', 'certificate_expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_of_other_name'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate_untrusted'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'client_certificate_required'],
    ['CERT_NOT_YET_VALID', 'tls_failed'],
    ['EPROTO', 'tls_failed'],
    ['ECONNREFUSED', 'not_reachable'],
    ['EHOSTUNREACH', 'not_reachable'],
    ['ENETUNREACH', 'not_reachable'],
    ['ETIMEDOUT', 'not_reachable'],
    ['EMFILE', 'service_failed'],
    ['ENFILE', 'service_failed'],
    ['EADDRNOTAVAIL', 'service_failed'],
    ['EAFNOSUPPORT', 'service_failed'],
    ['ENOBUFS', 'service_failed'],
    ['ENOMEM', 'service_failed'],
    ['EACCES', 'service_failed'],
    ['EPERM', 'service_failed'],
    ['ECONNRESET', 'closed_early'],
    ['EPIPE', 'closed_early'],
  ] as const) {
    const connect = failing(code)
    const transport = httpsTransport({ clock, hosts: [], resolve, connect })
    assert.deepEqual(await transport.send(MESSAGE, NEVER), { error }, code)
  }
  const unnamed = httpsTransport({ clock, hosts: [], resolve: async () => failing('ENOTFOUND')() })
  assert.deepEqual(await unnamed.send(MESSAGE, NEVER), { error: 'name_not_found' })
})

test('an allowed host is resolved as this machine does, and reached without TLS at its port', async () => {
  await using to = await receiver((response) => void response.writeHead(204).end())
  const hosts = [`localhost:${to.port}`]
  const asked: string[] = []
  const transport = httpsTransport({
    clock,
    hosts,
    resolve,
    resolveAllowed: async (name) => {
      asked.push(name)
      return ['127.0.0.1']
    },
  })
  const url = `http://localhost:${to.port}/hook`
  assert.deepEqual(await transport.send({ ...MESSAGE, url }, NEVER), { status: 204, body: '' })
  assert.deepEqual(asked, ['localhost'])
  assert.equal(
    (to.requests[0]?.headers as IncomingHttpHeaders | undefined)?.host,
    `localhost:${to.port}`,
  )
  const byName = httpsTransport({ clock, hosts })
  assert.deepEqual(await byName.send({ ...MESSAGE, url }, NEVER), { status: 204, body: '' })
  // The operator has removed the host since.
  const removed = httpsTransport({ clock, hosts: [] })
  const error = 'address_rejected'
  assert.deepEqual(await removed.send({ ...MESSAGE, url }, NEVER), { error })
})
