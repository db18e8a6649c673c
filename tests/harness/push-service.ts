import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { pushTransport } from '@bonded/server/adapters/push/push-transport'
import type { TestClock } from './test-clock.ts'

/** A host that the service knows. Its address leads to the push service of the test. */
const ORIGIN = 'https://fcm.googleapis.com'
const DAY_S = 86_400

/**
 * A push service on this machine. It judges each message by RFC 8030 and RFC 8292 with node:crypto
 * alone, and accepts those of the key that a subscription is bound to.
 */
export async function pushService() {
  const events = new EventEmitter()
  const bound = new Map<string, string>()
  const received: string[] = []
  /** The status of a message that is in order; 0 for no answer. */
  const status = { now: 201 }
  let clock: TestClock | undefined
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const judged = judge(request, body, {
        key: bound.get(request.url ?? ''),
        now: clock?.now() ?? 0,
      })
      received.push(judged === 'ok' ? (request.url ?? '') : judged)
      events.emit('message')
      if (status.now === 0) return
      response.writeHead(judged === 'ok' ? status.now : 403, { location: 'https://evil.example' })
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    received,
    status,
    port,
    /** Binds a subscription to a key, as `pushManager.subscribe()` does. */
    subscribe(name: string, publicKey: string): string {
      assert.equal(Buffer.from(publicKey, 'base64url').length, 65)
      bound.set(`/send/${name}`, publicKey)
      return `${ORIGIN}/send/${name}`
    },
    /** Resolves once it has received that many messages. */
    async reached(count: number) {
      while (received.length < count) await once(events, 'message')
    },
    transport(given: TestClock) {
      clock = given
      return transportTo(port, given)
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The service's own transport, whose connections lead to a push service of this machine. */
export function transportTo(port: number, clock: TestClock) {
  return pushTransport({
    clock,
    hosts: [],
    resolve: async () => ['93.184.215.14'],
    connect: () => connect({ host: '127.0.0.1', port }),
  })
}

/** Returns `ok`, or the rule that the message breaks. */
function judge(
  { headers }: IncomingMessage,
  body: string,
  { key, now }: { readonly key: string | undefined; readonly now: number },
): string {
  const { authorization = '', ttl = '', topic = '', urgency } = headers
  if (key === undefined) return 'no subscription'
  if (body !== '' || headers['content-encoding'] !== undefined) return 'it has content'
  if (ttl !== '600') return 'ttl'
  if (!/^[\w-]{1,32}$/.test(String(topic))) return 'topic'
  if (urgency !== 'high') return 'urgency'
  const [, token = '', sent] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? []
  if (sent !== key) return 'the key of another service'
  const [head = '', claims = '', signature = ''] = token.split('.')
  const point = Buffer.from(key, 'base64url')
  const coordinate = (from: number) => point.subarray(from, from + 32).toString('base64url')
  const publicKey = createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) },
    format: 'jwk',
  })
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
  if (!isSigned) return 'signature'
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  if (read(head).alg !== 'ES256') return 'alg'
  const { aud, exp, sub } = read(claims)
  if (aud !== ORIGIN) return 'aud'
  if (!(exp > now / 1_000 && exp <= now / 1_000 + DAY_S)) return 'exp'
  return /^(https:|mailto:)/.test(sub) ? 'ok' : 'sub'
}
