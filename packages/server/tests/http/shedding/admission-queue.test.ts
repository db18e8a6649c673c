import assert from 'node:assert/strict'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { test } from 'node:test'
import type { ShedRequest } from '../../../src/http/shedding/admission-queue.ts'
import {
  NEW_WAIT_MS,
  PLACES,
  REQUESTS_PER_TURN,
  UNKNOWN_PER_TURN,
} from '../../../src/http/shedding/waiting-requests.ts'
import { credential, queuedServer, type Request, session } from './admission-scene.ts'

const startedOf = (requests: readonly Request[], tenant: string) =>
  requests.filter(({ headers }) => headers.authorization === credential(tenant)).length

test('starts the requests of a turn at its end', async () => {
  const { started, queue, send } = queuedServer()
  for (let turn = 1; turn <= 3; turn++) {
    send('192.0.2.1', UNKNOWN_PER_TURN)
    assert.equal(started.length, (turn - 1) * UNKNOWN_PER_TURN)
    await nextTurn()
    assert.equal(started.length, turn * UNKNOWN_PER_TURN)
  }
  assert.equal(queue.size(), 0)
})

test('spreads a burst over turns, and starts each request exactly once and in order', async () => {
  const { started, queue, send, shed } = queuedServer()
  const burst = send('192.0.2.1', 100)
  assert.equal(queue.size(), 100)
  for (let turn = 1; turn <= 100 / UNKNOWN_PER_TURN + 1; turn++) {
    await nextTurn()
    assert.ok(started.length <= turn * UNKNOWN_PER_TURN)
  }
  assert.deepEqual(started, burst)
  assert.deepEqual(shed, [])
})

test('starts a request of a known tenant in the next turn, before the rest of a burst', async () => {
  const { started, send, create } = queuedServer(['shop'])
  send('192.0.2.1', 500)
  const [request] = create('shop')
  await nextTurn()
  assert.equal(started[0], request)
})

test('starts a request of another network in the same turn as a burst', async () => {
  const { started, send } = queuedServer()
  send('192.0.2.1', 500)
  const [request] = send('198.51.100.7')
  await nextTurn()
  assert.ok(started.includes(request as Request))
})

test('starts the health checks at once during an overload', () => {
  const { started, create, send } = queuedServer(['shop'])
  create('shop', 500)
  const [probe] = send('192.0.2.1', 1, '/health/ready')
  assert.deepEqual(started, [probe])
})

/** Three times the creates that the turns can start, and some of a quiet tenant. */
async function flood(scene: ReturnType<typeof queuedServer>, turns: number) {
  const quiet: Request[] = []
  for (let turn = 0; turn < turns; turn++) {
    scene.create('flood', 3 * REQUESTS_PER_TURN)
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
  assert.ok(startedOf(scene.started, 'quiet') >= quiet.length)
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
    scene.create('flood', 3 * REQUESTS_PER_TURN)
    scene.create('quiet')
    completions.push(scene.complete('flood'))
    await nextTurn()
    scene.advance(5)
  }
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
  const index = scene.started.indexOf(completion)
  assert.ok(index >= 0)
  assert.ok(reads.every((read) => !scene.started.slice(0, index).includes(read)))
})

test('serves the arrivals of one turn by priority', async () => {
  const scene = queuedServer(['shop'])
  scene.create('shop', 4)
  const completion = scene.complete('shop')
  await nextTurn()
  assert.equal(scene.started[0], completion)
})

test('rejects nothing of the bursts of a load that leaves it idle in between', async () => {
  const scene = queuedServer(['flood'])
  await flood(scene, 100)
  while (scene.queue.size() > 0) await nextTurn()
  const before = scene.shed.length
  for (let burst = 0; burst < 100; burst++) {
    scene.create('flood', REQUESTS_PER_TURN)
    await nextTurn()
    scene.advance(20)
  }
  assert.equal(scene.shed.length, before)
})

test('starts only what the store can take, by priority', async () => {
  const scene = queuedServer(['shop'])
  scene.setFree(0)
  const [create] = scene.create('shop')
  const completion = scene.complete('shop')
  const [probe] = scene.send('192.0.2.1', 1, '/health/ready')
  for (let turn = 0; turn < 3; turn++) await pause(1)
  assert.deepEqual(scene.started, [probe])
  scene.setFree(1 / REQUESTS_PER_TURN)
  while (scene.queue.size() > 0) await pause(1)
  assert.deepEqual(scene.started, [probe, completion, create])
})

test('rejects what has waited too long before it starts the requests of a turn', async () => {
  const scene = queuedServer(['shop'])
  scene.create('shop', 2 * REQUESTS_PER_TURN)
  scene.advance(NEW_WAIT_MS)
  const startedAtRejection: number[] = []
  scene.onShed(() => startedAtRejection.push(scene.started.length))
  await nextTurn()
  assert.equal(scene.started.length, REQUESTS_PER_TURN)
  assert.deepEqual(
    startedAtRejection,
    Array.from({ length: REQUESTS_PER_TURN }, () => 0),
  )
})

test('reports the priority and the standing of a rejected request', async () => {
  const scene = queuedServer(['flood'])
  scene.create('flood', PLACES + 1)
  assert.equal(scene.queue.isOverloaded('new'), true)
  assert.equal(scene.queue.isOverloaded('begun'), false)
  const { priority, standing } = scene.shed.at(-1) as ShedRequest
  assert.deepEqual({ priority, standing }, { priority: 'new', standing: 'within' })
})

test('skips a request whose client disconnected while it waited', async () => {
  const scene = queuedServer()
  const gone = scene.send('192.0.2.1', REQUESTS_PER_TURN + 1)
  for (const { socket } of gone) socket.destroyed = true
  scene.advance(NEW_WAIT_MS)
  await nextTurn()
  assert.deepEqual([scene.started, scene.shed], [[], []])
})

test('drops the waiting requests when the service stops', async () => {
  const { started, queue, send } = queuedServer()
  send('192.0.2.1', 100)
  queue[Symbol.dispose]()
  await nextTurn()
  await nextTurn()
  assert.deepEqual(started, [])
})
