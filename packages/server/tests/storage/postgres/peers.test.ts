import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { CLOSE } from '@bonded/contract'
import { loadPhonePage } from '@bonded/phone-page/files'
import pino from 'pino'
import { createAttestation } from '../../../src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../../../src/adapters/attestation/phone-trust.ts'
import { composeService, type RunningService, startService } from '../../../src/compose.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../../../core/src/domain/connection-limits.ts'
import { USUAL_LIMITS } from '../../../../core/src/domain/limits.ts'
import { noMeter } from '../../../../core/src/ports/meter.ts'
import { NO_APP_LINKS } from '../../../../core/src/operations/service.ts'
import { openChannel } from '../../../../../tests/harness/channel.ts'
import { send } from '../../../../../tests/harness/client.ts'
import { PUBLIC_ORIGIN, ROOT_KEY } from '../../../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../../../tests/harness/no-script.ts'
import { runSql } from '../../../../store/tests/servers/postgres.ts'
import { addTenant } from '../../../../../tests/harness/tenants.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'
import { postgresDatabase } from '../../../../store/tests/servers/test-database.ts'

const database = await postgresDatabase()
const clock = new TestClock()
const [NETWORK, SESSION] = [4, 2]

/** A node with caps of 4 connections of a network and 2 channels of a session. */
async function startNode(): Promise<RunningService> {
  const service = composeService({
    databaseFile: '',
    openStore: await database.openStore(clock.now()),
    rootKeys: [ROOT_KEY],
    settings: {
      publicOrigin: PUBLIC_ORIGIN,
      rpId: new URL(PUBLIC_ORIGIN).hostname,
      appScheme: 'pulse',
      qrContent: 'app_scheme',
      appLinks: NO_APP_LINKS,
      version: '0.0.0',
      limits: USUAL_LIMITS,
      trustedProxies: 0,
      connections: { ...DEFAULT_CONNECTION_LIMITS, network: NETWORK, session: SESSION },
      deviceTokenTtlMs: 1_000_000,
    },
    clock,
    attestation: createAttestation(NO_APPS, {
      origin: PUBLIC_ORIGIN,
      clock,
      fetch: () => Promise.reject(new Error('no network')),
    }),
  })
  return startService(service, {
    host: '127.0.0.1',
    port: 0,
    log: pino({ level: 'silent' }),
    script: NO_SCRIPT,
    phonePage: loadPhonePage,
  })
}

const nodes = [await startNode(), await startNode()] as const
const [a, b] = nodes
after(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]()
  await database.drop()
})
/** Twice, so that the first node also learns what the second one sent. */
async function exchange(): Promise<void> {
  for (const node of [a, b, a, b]) await node.service.peers.exchange?.()
}

interface Client {
  readonly socket: Socket
  /** Resolves to false if the service closes the connection without a response. */
  readonly responded: Promise<boolean>
}

function clientOf(node: RunningService): Client {
  const socket = connect(node.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /health/alive HTTP/1.1\r\nhost: bond\r\n\r\n')
  const responded = new Promise<boolean>((resolve) => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
  return { socket, responded }
}

const openOn = (node: RunningService) => node.app.connectionCaps.counts.open
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

test('a new node misses no event of a session from the moment that it listens', async () => {
  // The clock stands still: no maintenance of this node runs.
  await using fresh = await startNode()
  const shop = await addTenant(a, { workflows: [{ name: 'w', actions: ['a'] }] })
  const call = (method: string, path: string, body?: object) =>
    send(a.port, { method, path: `/api/v1${path}`, token: shop.server, ...(body && { body }) })
  const { body: session } = await call('POST', '/sessions', { workflow: 'w' })
  const channel = openChannel(fresh.port, session)
  assert.equal((await channel.next()).type, 'hello')
  assert.equal((await call('DELETE', `/sessions/${session.id}`)).status, 204)
  assert.equal((await channel.next()).state, 'killed')
  assert.equal(await channel.closed, CLOSE.ended)
})

test('two nodes share the buckets of a limit through the database', async () => {
  await exchange()
  const { device: limit } = USUAL_LIMITS
  const take = ({ service }: RunningService) => {
    let granted = 0
    for (let call = 0; call < limit.burst; call++)
      if (service.limiter.take([{ limit, key: 'one' }]).granted) granted++
    return granted
  }
  assert.equal(take(a), limit.burst)
  await exchange()
  assert.equal(take(b), 0)
  clock.advance((limit.burst * limit.intervalUs) / 1_000)
  assert.equal(take(b), limit.burst)
})

test('old messages are deleted, and an exchange that was repeated counts once', async () => {
  const countOld = async () => {
    const [found] = await runSql(
      database.url,
      `select count(*) as n from node_message where sent_at < now() - interval '10 seconds'`,
    )
    return Number(found?.n)
  }
  await exchange()
  await runSql(database.url, `update node_message set sent_at = now() - interval '11 seconds'`)
  assert.notEqual(await countOld(), 0)
  const open = await database.openStore(clock.now())
  await using one = open({ bus: a.service.bus, meter: noMeter })
  // The eighth message deletes.
  await one.messages?.exchange({ number: 8, text: 'x' })
  assert.equal(await countOld(), 0)
  await one.messages?.exchange({ number: 8, text: 'x' })
  await using other = (await database.openStore(clock.now()))({
    bus: b.service.bus,
    meter: noMeter,
  })
  const received = await other.messages?.exchange({ number: 1, text: 'y' })
  assert.equal(received?.filter(({ text }) => text === 'x').length, 1)
  assert.deepEqual(await other.messages?.exchange({ number: 2, text: 'y' }), [])
  await runSql(database.url, `delete from node_message where text in ('x', 'y')`)
})

test('messages that no node writes are ignored, and stop no exchange', async () => {
  const id = (first: number) => `${first}0000000-0000-4000-8000-000000000000`
  await runSql(
    database.url,
    `insert into node_message (node, number, text, level, sent_at)
     select node, number, text, 1, sent_at from (values
       ('a,b{}"', 1, 'poison', now()), ('', 1, 'poison', now()), ('null', 1, 'poison', now()),
       ('${id(1)}', 9223372036854775807, 'poison', now()), ('${id(2)}', -1, 'poison', now()),
       ('${id(3)}', 1, repeat('poison', 1000000), now()),
       ('${id(4)}', 1, 'poison', now() + interval '1 year')) m (node, number, text, sent_at)`,
  )
  const open = await database.openStore(clock.now())
  await using reader = open({ bus: a.service.bus, meter: noMeter })
  for (const number of [6, 7, 8]) {
    const received = await reader.messages?.exchange({ number, text: 'y' })
    assert.deepEqual(
      received?.filter(({ text }) => text.startsWith('poison')),
      [],
    )
  }
  const [left] = await runSql(
    database.url,
    'select count(*) as n from node_message where sent_at > now()',
  )
  assert.equal(Number(left?.n), 0, 'a message of the future does not stay until its time comes')
  await runSql(database.url, `delete from node_message where text like 'poison%' or text = 'y'`)
})

test('a number that no node has sent hides the messages of a node only while its row is there', async (t) => {
  const waiting = t.mock.method(performance, 'now')
  const openWith = async (node: RunningService) => {
    const open = await database.openStore(clock.now())
    return open({ bus: node.service.bus, meter: noMeter })
  }
  await using one = await openWith(a)
  await using other = await openWith(b)
  const read = async (number: number) => {
    const received = await other.messages?.exchange({ number, text: 'y' })
    return received?.filter(({ node }) => node === one.messages?.node).map(({ text }) => text)
  }
  await runSql(
    database.url,
    `insert into node_message (node, number, text, level)
     values ('${one.messages?.node}', 1e9, 'x', 1)`,
  )
  assert.deepEqual(await read(1), ['x'])
  await one.messages?.exchange({ number: 1, text: 'real' })
  assert.deepEqual(await read(2), [])
  await runSql(database.url, `delete from node_message where text in ('x', 'y')`)
  const later = performance.now() + 11_001
  waiting.mock.mockImplementation(() => later)
  assert.deepEqual(await read(3), ['real'])
  await runSql(database.url, `delete from node_message where text in ('real', 'y')`)
})

test('connections of a network count on all nodes, and the idle ones beyond the cap close', async () => {
  const onA = Array.from({ length: NETWORK }, () => clientOf(a))
  assert.deepEqual(
    await Promise.all(onA.map(({ responded }) => responded)),
    Array(NETWORK).fill(true),
  )
  await exchange()
  assert.equal(await clientOf(b).responded, false)
  for (const { socket } of onA) socket.destroy()
  await until(() => openOn(a) === 0)
  await exchange()

  // Before they know of each other, each node accepts the cap.
  const each = nodes.flatMap((node) => Array.from({ length: NETWORK }, () => clientOf(node)))
  assert.ok((await Promise.all(each.map(({ responded }) => responded))).every(Boolean))
  await exchange()
  await until(() => openOn(a) + openOn(b) <= NETWORK)
  assert.deepEqual([openOn(a), openOn(b)], [NETWORK / 2, NETWORK / 2])
  for (const { socket } of each) socket.destroy()
  await until(() => openOn(a) + openOn(b) === 0)
  await exchange()
})

test('channels of a session count on all nodes, and the oldest beyond the cap close', async () => {
  const shop = await addTenant(a, {})
  const body = { workflow: 'credit_application' }
  const created = await send(a.port, {
    method: 'POST',
    path: '/api/v1/sessions',
    token: shop.server,
    body,
  })
  assert.equal(created.status, 201, created.text)
  const open = async ({ port }: RunningService) => {
    const channel = openChannel(port, created.body)
    await channel.next()
    return channel
  }
  const onA = [await open(a), await open(a)]
  await exchange()
  const onB = [await open(b), await open(b)]
  // The cap is used up on the first node, so the second one has room for the newest channel only.
  assert.equal(await onB[0]?.closed, CLOSE.superseded)
  for (const { socket } of [...onA, ...onB]) socket.terminate()
  await until(() => openOn(a) + openOn(b) === 0)
  await exchange()

  // Before they know of each other, each node accepts the cap.
  const [oldestOnA, oldestOnB] = [await open(a), await open(b)]
  const newest = [await open(a), await open(b)]
  await exchange()
  assert.equal(await oldestOnA.closed, CLOSE.superseded)
  assert.equal(await oldestOnB.closed, CLOSE.superseded)
  assert.ok(newest.every(({ socket }) => socket.readyState === socket.OPEN))
  for (const { socket } of newest) socket.terminate()
})
