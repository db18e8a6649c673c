import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { EventId } from '@bonded/contract'
import { parseWebhookHosts } from '../../../src/adapters/webhooks/destination.ts'
import { httpsTransport } from '../../../src/adapters/webhooks/https-transport.ts'
import { newSecret } from '../../../src/adapters/webhooks/signature.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'
import { flippingDns } from './flipping-dns.ts'

const message = {
  id: 'evt_1' as EventId,
  body: '{}',
  scheme: 'v1' as const,
  secrets: [newSecret('v1').secret],
}
const NEVER = new AbortController().signal

/** URLs that must not be reached: other spellings, other ports, and other schemes. */
const URLS = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.1/',
  'https://0x7f.0.0.1/',
  'https://0x7f000001/',
  'https://2130706433/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://①②⑦.0.0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[ff02::1]/',
  'https://[100::1]/',
  'https://[2001:db8::1]/',
  'https://[3fff::1]/',
  'https://169.254.169.254/latest/meta-data/',
  'https://100.100.100.200/',
  'https://192.0.0.192/',
  'https://168.63.129.16/',
  'http://example.com/',
  'https://example.com:8443/',
  'https://example.com:22/',
  'https://user:password@example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:25/',
  'not a URL',
]

/** Addresses that a name can resolve to. */
const ADDRESSES = [
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.255',
  '169.254.0.1',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::a00:1',
  '100::1',
  '2001::1',
  '2001:10::1',
  '2001:db8::1',
  '2002:a00:1::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'febf::1',
  'ff0e::1',
]

test(`none of ${URLS.length + ADDRESSES.length} targets inside the network is reached`, async () => {
  const reached: string[] = []
  const send = (url: string, address: string) =>
    httpsTransport({
      clock: new TestClock(),
      hosts: [],
      resolve: async () => [address],
      connect: refusing(reached),
    }).send({ ...message, url }, NEVER)
  for (const url of URLS)
    assert.deepEqual(await send(url, '127.0.0.1'), { error: 'address_rejected' }, url)
  for (const address of ADDRESSES)
    assert.deepEqual(
      await send('https://hooks.example/', address),
      { error: 'address_rejected' },
      address,
    )
  assert.deepEqual(reached, [])
  // The check itself lets public addresses through, or the lines above would prove nothing.
  await send('https://hooks.example/', '93.184.215.14')
  await send('https://hooks.example/', '2606:2800:21f:cb07:6820:80da:af6b:8b2c')
  assert.deepEqual(reached, ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])
})

test('one address inside the network rejects a name with several', async () => {
  const reached: string[] = []
  const transport = httpsTransport({
    clock: new TestClock(),
    hosts: [],
    resolve: async () => ['93.184.215.14', '10.0.0.1'],
    connect: refusing(reached),
  })
  const result = await transport.send({ ...message, url: 'https://hooks.example/' }, NEVER)
  assert.deepEqual(result, { error: 'address_rejected' })
  assert.deepEqual(reached, [])
})

const FOUR = ['93.184.215.14', '93.184.215.15', '93.184.215.16', '93.184.215.17']
const SIX = ['2606:2800:21f::1', '2606:2800:21f::2']

test('tries the addresses of a name in turn, of both families, until one connects', async () => {
  for (const [found, wanted] of [
    [FOUR.slice(0, 2), FOUR.slice(0, 2)],
    [
      [...FOUR, ...SIX],
      [FOUR[0], SIX[0], FOUR[1], SIX[1]],
    ],
    [
      [SIX[0], ...FOUR],
      [SIX[0], FOUR[0], ...FOUR.slice(1, 3)],
    ],
    [
      [...FOUR, '2606:2800:21f::3'],
      [FOUR[0], '2606:2800:21f::3', FOUR[1], FOUR[2]],
    ],
  ] as const) {
    const reached: string[] = []
    const transport = httpsTransport({
      clock: new TestClock(),
      hosts: [],
      resolve: async () => found as string[],
      connect: refusing(reached),
    })
    const result = await transport.send({ ...message, url: 'https://hooks.example/' }, NEVER)
    assert.deepEqual(result, { error: 'not_reachable' })
    assert.deepEqual(reached, wanted)
  }
})

test('delivers to the second address if the first one refuses, and to none after a connection', async () => {
  let received = 0
  await using receiver = await listening(
    createServer((_, response) => {
      received++
      if (received === 1) response.end('ok')
      else response.socket?.destroy()
    }),
  )
  const host = `hooks.example:${receiver.port}`
  const reached: string[] = []
  const transport = httpsTransport({
    clock: new TestClock(),
    hosts: [host],
    connect: (options) => {
      reached.push(String(options.host))
      return reached.length === 1
        ? refusing([])(options)
        : connectTcp({ host: '127.0.0.1', port: receiver.port })
    },
    resolve: async () => [],
    resolveAllowed: async () => ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
  })
  const send = () => transport.send({ ...message, url: `http://${host}/` }, NEVER)
  assert.deepEqual(await send(), { status: 200, body: 'ok' })
  assert.deepEqual(reached, ['10.0.0.1', '10.0.0.2'])
  // The receiver may have read the second request, so it is not sent to another address.
  assert.deepEqual(await send(), { error: 'closed_early' })
  assert.deepEqual(reached, ['10.0.0.1', '10.0.0.2', '10.0.0.1'])
})

test('leaves an address that does not connect for the next one', async () => {
  const clock = new TestClock()
  const reached: string[] = []
  const transport = httpsTransport({
    clock,
    hosts: [],
    resolve: async () => FOUR.slice(0, 2),
    connect: (options) => {
      if (reached.length > 0) return refusing(reached)(options)
      reached.push(String(options.host))
      queueMicrotask(() => clock.advance(3_000))
      return new Duplex({ read() {}, write() {} })
    },
  })
  const result = await transport.send({ ...message, url: 'https://hooks.example/' }, NEVER)
  assert.deepEqual(result, { error: 'not_reachable' })
  assert.deepEqual(reached, FOUR.slice(0, 2))
})

test('a name server that flips its answers changes nothing after the check', async () => {
  const PUBLIC = '93.184.215.14'
  await using dns = await flippingDns([PUBLIC, '127.0.0.1'])
  const reached: string[] = []
  const transport = httpsTransport({
    clock: new TestClock(),
    hosts: [],
    resolve: dns.resolve,
    connect: refusing(reached),
  })
  const errors: unknown[] = []
  for (let index = 0; index < 10; index++) {
    const result = await transport.send({ ...message, url: 'https://flip.example/' }, NEVER)
    errors.push('error' in result && result.error)
  }
  // Each attempt asks once: the public answer is used as it was checked, the other one is rejected.
  assert.equal(dns.questions, 10)
  assert.deepEqual(
    reached,
    Array.from({ length: 5 }, () => PUBLIC),
  )
  assert.equal(errors.filter((error) => error === 'address_rejected').length, 5)
})

test('follows no redirect', async () => {
  let inside = 0
  await using target = await listening(createServer((_, response) => response.end(void inside++)))
  const location = `http://127.0.0.1:${target.port}/`
  await using receiver = await listening(
    createServer((_, response) => response.writeHead(307, { location }).end()),
  )
  const transport = httpsTransport({
    clock: new TestClock(),
    hosts: [`127.0.0.1:${receiver.port}`, `127.0.0.1:${target.port}`],
  })
  const url = `http://127.0.0.1:${receiver.port}/`
  assert.deepEqual(await transport.send({ ...message, url }, NEVER), { status: 307, body: '' })
  assert.equal(inside, 0)
})

test('the operator allows a host with its port, and nothing beside it', () => {
  const transport = httpsTransport({ clock: new TestClock(), hosts: ['10.0.0.5:8443'] })
  assert.equal(transport.urlProblem('https://10.0.0.5:8443/hook', 'operator'), undefined)
  assert.equal(transport.urlProblem('http://10.0.0.5:8443/hook', 'operator'), undefined)
  for (const url of ['https://10.0.0.5/', 'https://10.0.0.6:8443/', 'http://10.0.0.5/'])
    assert.notEqual(transport.urlProblem(url, 'operator'), undefined, url)
})

test('rejects a URL with a character that its parser drops or that no reader sees', () => {
  const transport = httpsTransport({ clock: new TestClock(), hosts: [] })
  assert.equal(transport.urlProblem('https://bücher.example/a', 'tenant'), undefined)
  for (const url of [
    ' https://e.example/',
    'https://e.example/\r\nHost: b.example',
    'https://e.exam\tple/',
    'https://e.example/\u202e',
  ])
    assert.match(transport.urlProblem(url, 'tenant') ?? '', /hidden character/, JSON.stringify(url))
})

test('a tenant cannot choose a host that the operator has allowed', () => {
  const hosts = ['10.0.0.5:8443', 'hooks.internal:443']
  const transport = httpsTransport({ clock: new TestClock(), hosts })
  for (const url of [
    'https://10.0.0.5:8443/',
    'https://hooks.internal/',
    'https://HOOKS.internal/',
  ])
    assert.match(transport.urlProblem(url, 'tenant') ?? '', /only the operator/, url)
  assert.equal(transport.urlProblem('https://hooks.example/', 'tenant'), undefined)
})

test('reads the list of allowed hosts, or rejects it', () => {
  assert.deepEqual(parseWebhookHosts(''), [])
  assert.deepEqual(parseWebhookHosts('Hooks.internal:8443, [fd00::1]:443'), [
    'hooks.internal:8443',
    '[fd00::1]:443',
  ])
  for (const text of [
    'hooks.internal',
    'https://a:1',
    'a:0',
    'a:99999',
    '*:443',
    'a:1,',
    '0x7f.1:80',
  ])
    assert.equal(parseWebhookHosts(text), undefined, text)
})

/** Notes the address of each connection, and connects to none. */
function refusing(reached: string[]) {
  return (options: { host?: string | null | undefined }) => {
    reached.push(String(options.host))
    const socket = new Duplex({ read() {}, write() {} })
    queueMicrotask(() => socket.destroy(Object.assign(new Error(''), { code: 'ECONNREFUSED' })))
    return socket
  }
}

async function listening(server: Server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
