import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import tls from 'node:tls'
import { boolean, sequence } from '../../../../simulator/src/test-pki/der.ts'
import { certify } from '../../../../simulator/src/test-pki/certificate.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'
import { checkedPost } from '../../../src/adapters/webhooks/checked-post.ts'

const DAY_MS = 86_400_000

interface Issued {
  readonly name: string
  readonly key: KeyObject
  readonly pem: string
}

/** A certificate of a test authority, for a name or for an authority below it. */
function issue(
  name: string,
  by: Issued | undefined,
  given: { host?: string; days?: number } = {},
): Issued {
  const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { host, days = 1 } = given
  // RFC 5280, section 4.2.1: basicConstraints, and subjectAltName with a dNSName.
  const authority = { id: '2.5.29.19', value: sequence(boolean(true)), critical: true }
  const dnsName = Buffer.from(host ?? '')
  const alternative = {
    id: '2.5.29.17',
    value: sequence(Buffer.concat([Buffer.of(0x82, dnsName.length), dnsName])),
  }
  const der = certify({
    serial: BigInt(Date.now()),
    subject: [['commonName', name]],
    issuer: [['commonName', by?.name ?? name]],
    publicKey,
    notBefore: new Date(Date.now() - 30 * DAY_MS),
    notAfter: new Date(Date.now() + days * DAY_MS),
    extensions: host === undefined ? [authority] : [alternative],
    issuerKey: by?.key ?? key,
  })
  const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  return { name, key, pem }
}

const root = issue('root', undefined)
const intermediate = issue('intermediate', root)

/** What one attempt to a server with these options of TLS gets. */
async function attempt(
  t: TestContext,
  leaf: Issued,
  { addresses = ['127.0.0.1'], ...options }: https.ServerOptions & { addresses?: string[] } = {},
) {
  const key = leaf.key.export({ type: 'pkcs8', format: 'pem' })
  const given = { key, cert: leaf.pem + intermediate.pem, ...options }
  const server = https.createServer(given, (_request, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const post = checkedPost({
    clock: new TestClock(),
    hosts: [`hooks.test:${port}`],
    timeoutMs: 10_000,
    maxResponseBytes: 100,
    resolveAllowed: async () => addresses,
    connect: (given) => tls.connect({ ...(given as tls.ConnectionOptions), ca: root.pem }),
  })
  const url = `https://hooks.test:${port}/`
  return post({ url, body: '{}', headers: () => ({}) }, new AbortController().signal)
}

const good = issue('leaf', intermediate, { host: 'hooks.test' })

test('a server with its chain gets the request', async (t) => {
  assert.deepEqual(await attempt(t, good), { status: 200, body: 'ok' })
})

test('a missing intermediate certificate has a reason of its own', async (t) => {
  assert.deepEqual(await attempt(t, good, { cert: good.pem }), { error: 'intermediate_missing' })
})

test('an expired certificate has a reason of its own', async (t) => {
  const expired = issue('leaf', intermediate, { host: 'hooks.test', days: -1 })
  assert.deepEqual(await attempt(t, expired), { error: 'certificate_expired' })
})

// A name often has an IPv6 address, and many machines have no route to it.
test('an expired certificate is named also if no other address answers', async (t) => {
  const expired = issue('leaf', intermediate, { host: 'hooks.test', days: -1 })
  const addresses = ['127.0.0.1', '127.0.0.2']
  assert.deepEqual(await attempt(t, expired, { addresses }), { error: 'certificate_expired' })
})

test('an address that this machine cannot use hides no refusal and no certificate', async () => {
  const failing = (code: string) => {
    const socket = new net.Socket()
    process.nextTick(() => socket.destroy(Object.assign(new Error(code), { code })))
    return socket
  }
  const attemptAt = (...codes: string[]) => {
    const left = codes.values()
    const post = checkedPost({
      clock: new TestClock(),
      hosts: ['hooks.test:1'],
      timeoutMs: 10_000,
      maxResponseBytes: 100,
      resolveAllowed: async () => codes.map((_code, index) => `127.0.0.${index + 1}`),
      connect: () => failing(left.next().value ?? ''),
    })
    const message = { url: 'https://hooks.test:1/', body: '{}', headers: () => ({}) }
    return post(message, new AbortController().signal)
  }
  for (const [codes, error] of [
    [['EMFILE'], 'service_failed'],
    [['EADDRNOTAVAIL', 'EMFILE'], 'service_failed'],
    [['ECONNREFUSED', 'EADDRNOTAVAIL'], 'not_reachable'],
    [['EADDRNOTAVAIL', 'ECONNREFUSED'], 'not_reachable'],
    [['CERT_HAS_EXPIRED', 'EADDRNOTAVAIL', 'ECONNREFUSED'], 'certificate_expired'],
    [['CERT_HAS_EXPIRED', 'ECONNRESET'], 'closed_early'],
  ] as const)
    assert.deepEqual(await attemptAt(...codes), { error }, codes.join())
})

test('a certificate of another name has a reason of its own', async (t) => {
  const other = issue('leaf', intermediate, { host: 'www.test' })
  assert.deepEqual(await attempt(t, other), { error: 'certificate_of_other_name' })
})

test('a self-signed certificate has a reason of its own', async (t) => {
  const own = issue('hooks.test', undefined, { host: 'hooks.test' })
  assert.deepEqual(await attempt(t, own, { cert: own.pem }), { error: 'certificate_untrusted' })
})

test('a wanted client certificate has a reason of its own', async (t) => {
  const asking = { requestCert: true, rejectUnauthorized: true, ca: root.pem }
  const error = await attempt(t, good, asking)
  assert.deepEqual(error, { error: 'client_certificate_required' })
  // TLS 1.2 has one alert for this and for a cipher that both sides lack.
  const old = await attempt(t, good, { ...asking, maxVersion: 'TLSv1.2' })
  assert.deepEqual(old, { error: 'tls_failed' })
})

test('two sides without a common version of TLS have no reason but TLS', async (t) => {
  const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1' } as const
  assert.deepEqual(await attempt(t, good, old), { error: 'tls_failed' })
})
