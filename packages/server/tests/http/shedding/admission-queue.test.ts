import assert from 'node:assert/strict'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { test } from 'node:test'
import {
  KNOWN_REQUESTS_PER_TURN,
  REQUESTS_PER_TURN,
  type ShedRequest,
} from '../../../src/http/shedding/admission-queue.ts'
import {
  MOST_LEFT_PLACES,
  OVERLOADED_PLACES,
  OVERLOADED_WAIT_MS,
} from '../../../src/http/shedding/waiting-requests.ts'
import { BACKEND, credential, queuedServer, type Request, session } from './admission-scene.ts'

const startedOf = (requests: readonly Request[], tenant: string) =>
  requests.filter(({ headers }) => headers.authorization === credential(tenant)).length

test('starts a few requests at once, and no request waits without a burst', async () => {
  const { started, queue, send } = queuedServer()
  for (let turn = 0; turn < 3; turn++) {
    send('192.0.2.1', REQUESTS_PER_TURN)
    assert.equal(started.length, (turn + 1) * REQUESTS_PER_TURN)
    await nextTurn()
  }
  assert.equal(queue.size(), 0)
})

test('spreads a burst over turns, and starts each request exactly once and in order', async () => {
  const { started, queue, send, shed } = queuedServer()
  const burst = send('192.0.2.1', 100)
  assert.equal(queue.size(), 100 - REQUESTS_PER_TURN)
  for (let turn = 1; turn <= 100 / REQUESTS_PER_TURN + 1; turn++) {
    await nextTurn()
    assert.ok(started.length <= (turn + 1) * REQUESTS_PER_TURN)
  }
  assert.deepEqual(started, burst)
  assert.deepEqual(shed, [])
})

test('starts a request of a backend at once during a burst of clients', () => {
  const { started, send } = queuedServer()
  send('192.0.2.1', 100)
  const [request] = send(BACKEND)
  assert.equal(started.at(-1), request)
})

test('starts a request of a known tenant in the next turn, before the rest of a burst', async () => {
  const { started, send, create } = queuedServer(['shop'])
  send('192.0.2.1', 500)
  const [request] = create('shop')
  await nextTurn()
  assert.equal(started[REQUESTS_PER_TURN], request)
})

test('starts a request of another network in the turn after the burst', async () => {
  const { started, send } = queuedServer()
  send('192.0.2.1', 500)
  const [request] = send('198.51.100.7')
  await nextTurn()
  assert.ok(started.includes(request as Request))
})

test('keeps one place of 32 for unknown callers', async () => {
  const { started, create, send } = queuedServer(['shop'])
  create('shop', 200)
  send('192.0.2.1', 3)
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  assert.equal(started.filter(({ url }) => url === '/bond').length, 3)
})

test('starts the health checks at once during an overload', () => {
  const { started, create, send } = queuedServer(['shop'])
  create('shop', 500)
  const [probe] = send('192.0.2.1', 1, '/health/ready')
  assert.equal(started.at(-1), probe)
})

/** Three times the creates that the turns can start, and some of a quiet tenant. */
async function flood(scene: ReturnType<typeof queuedServer>, turns: number) {
  const quiet: Request[] = []
  for (let turn = 0; turn < turns; turn++) {
    scene.create('flood', 3 * KNOWN_REQUESTS_PER_TURN)
    if (turn % 4 === 0) quiet.push(...scene.create('quiet'))
    await nextTurn()
    scene.advance(5)
  }
  return quiet
}

test('rejects the creates of a flood and none of a tenant within its share', async () => {
  const scene = queuedServer(['flood', 'quiet'])
  await flood(scene, 60)
  const from = scene.shed.length
  const quiet = await flood(scene, 200)
  assert.equal(startedOf(scene.started, 'quiet') >= quiet.length, true)
  const late = scene.shed.slice(from)
  assert.ok(late.length > 1_000)
  assert.ok(
    late.every(({ request }) => request.headers.authorization === credential('flood')),
    'every rejected request belongs to the flood',
  )
  assert.ok(late.every(({ standing }) => standing === 'above'))
})

test('rejects no completion of a tenant that floods with creates', async () => {
  const scene = queuedServer(['flood', 'quiet'])
  const completions: Request[] = []
  for (let turn = 0; turn < 300; turn++) {
    scene.create('flood', 3 * KNOWN_REQUESTS_PER_TURN)
    scene.create('quiet')
    completions.push(scene.complete('flood'))
    await nextTurn()
    scene.advance(5)
  }
  await nextTurn()
  await nextTurn()
  const startedSet = new Set(scene.started)
  assert.ok(completions.every((request) => startedSet.has(request)))
})

test('serves the completions of a flooding tenant before the status reads of its pages', async () => {
  // The session belongs to the last one.
  const scene = queuedServer(['quiet', 'flood'])
  await flood(scene, 60)
  const reads = scene.send('192.0.2.1', 50, `/api/v1/sessions/${session}`)
  scene.create('quiet')
  const completion = scene.complete('flood')
  await nextTurn()
  await nextTurn()
  const at = scene.started.indexOf(completion)
  assert.ok(at >= 0)
  assert.ok(reads.every((read) => !scene.started.slice(0, at).includes(read)))
})

test('serves the arrivals of one turn by priority during an overload', async () => {
  const scene = queuedServer(['flood'])
  await flood(scene, 100)
  await nextTurn()
  await nextTurn()
  const from = scene.started.length
  scene.create('flood', 4)
  const completion = scene.complete('flood')
  await nextTurn()
  assert.equal(scene.started[from], completion)
})

test('rejects nothing of the bursts of a load that leaves it idle in between', async () => {
  const scene = queuedServer(['flood'])
  await flood(scene, 100)
  for (let burst = 0; burst < 30; burst++) {
    scene.create('flood', 2 * OVERLOADED_PLACES)
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    scene.advance(20)
  }
  const before = scene.shed.length
  for (let burst = 0; burst < 100; burst++) {
    scene.create('flood', 2 * OVERLOADED_PLACES)
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    scene.advance(20)
  }
  assert.equal(scene.shed.length, before)
})

test('starts only as many requests as the database has room for, by priority', async () => {
  const scene = queuedServer(['shop'])
  scene.setRoom(0)
  const [create] = scene.create('shop')
  const completion = scene.complete('shop')
  const [probe] = scene.send('192.0.2.1', 1, '/health/ready')
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  assert.deepEqual(scene.started, [probe])
  scene.setRoom(MOST_LEFT_PLACES + 1)
  while (scene.queue.size() > 0) await pause(1)
  assert.deepEqual(scene.started, [probe, completion, create])
})

test('leaves a part of the room of the database to begun sessions', async () => {
  const scene = queuedServer(['shop'])
  scene.setRoom(8)
  const [create] = scene.create('shop')
  const completion = scene.complete('shop')
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  assert.deepEqual(scene.started, [completion])
  scene.setRoom(9)
  while (scene.queue.size() > 0) await pause(1)
  assert.deepEqual(scene.started, [completion, create])
})

test('leaves places for a quiet tenant that a flooding tenant does not fill', async () => {
  // The session belongs to the last one.
  const scene = queuedServer(['quiet', 'flood'])
  await flood(scene, 60)
  while (scene.queue.size() > 0) await nextTurn()
  const from = scene.started.length
  scene.setRoom(12)
  const completion = scene.complete('flood')
  for (let turn = 0; turn < 3; turn++) await pause(1)
  assert.equal(scene.started.length, from)
  const [create] = scene.create('quiet')
  while (scene.started.length === from) await pause(1)
  assert.deepEqual(scene.started.slice(from), [create])
  scene.setRoom(13)
  while (scene.queue.size() > 0) await pause(1)
  assert.equal(scene.started.at(-1), completion)
})

test('rejects what would wait too long before it starts the requests of a turn', async () => {
  const scene = queuedServer(['flood'])
  await flood(scene, 100)
  await nextTurn()
  scene.advance(5)
  const before = { started: scene.started.length, shed: scene.shed.length }
  const startedAtRejection: number[] = []
  scene.onShed(() => startedAtRejection.push(scene.started.length - before.started))
  scene.create('flood', OVERLOADED_PLACES)
  scene.advance(OVERLOADED_WAIT_MS)
  scene.setRoom(10)
  await nextTurn()
  assert.equal(scene.started.length - before.started, 2)
  assert.deepEqual(
    startedAtRejection,
    Array.from({ length: OVERLOADED_PLACES - 2 }, () => 0),
  )
})

test('reports the priority and the wait of a rejected request', async () => {
  const scene = queuedServer(['flood'])
  await flood(scene, 100)
  assert.equal(scene.queue.isOverloaded('create'), true)
  assert.equal(scene.queue.isOverloaded('completion'), false)
  const { priority, endpoint, waitedMs } = scene.shed.at(-1) as ShedRequest
  assert.deepEqual({ priority, endpoint }, { priority: 'create', endpoint: 'createSession' })
  assert.ok(waitedMs <= 15, `${waitedMs} ms`)
})

test('skips a request whose client disconnected while it waited', async () => {
  const { started, send } = queuedServer()
  const gone = send('192.0.2.1', 2 * REQUESTS_PER_TURN).at(-1) as Request
  gone.socket.destroyed = true
  await nextTurn()
  assert.ok(!started.includes(gone))
})

test('drops the waiting requests when the service stops', async () => {
  const { started, queue, send } = queuedServer()
  send('192.0.2.1', 100)
  queue[Symbol.dispose]()
  await nextTurn()
  assert.equal(queue.size(), 0)
  assert.equal(started.length, REQUESTS_PER_TURN)
})
