import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SHED_PRIORITIES, SHED_STANDINGS } from '@bonded/core/ports/meter'
import { fc } from '../../../../../tests/random.ts'
import {
  BEGUN_WAIT_MS,
  NEW_WAIT_MS,
  PLACES,
  REQUESTS_PER_TURN,
  SHORT_FOR_MS,
  UNKNOWN_PER_TURN,
  type WaitingRequest,
} from '../../../src/http/shedding/waiting-requests.ts'
import { count, overload, PER_PRIORITY, type Request, scene } from './waiting-scene.ts'

const rankOf = ({ standing, priority }: WaitingRequest) =>
  SHED_STANDINGS.indexOf(standing) * SHED_PRIORITIES.length + SHED_PRIORITIES.indexOf(priority)

test('serves by priority, whatever the order of arrival', () => {
  const s = scene()
  for (const priority of SHED_PRIORITIES.toReversed()) s.add(priority)
  s.turn()
  assert.deepEqual(
    s.served.map(({ priority }) => priority),
    SHED_PRIORITIES,
  )
})

test('serves callers within their share before callers above it, and unknown callers last', () => {
  const s = scene()
  s.add('begun', { standing: 'unknown' })
  s.add('begun', { standing: 'above' })
  s.add('new', { standing: 'within' })
  s.turn()
  assert.deepEqual(
    s.served.map(({ standing }) => standing),
    ['within', 'above', 'unknown'],
  )
})

test('rejects new work, and nothing of begun sessions that are served', () => {
  const s = scene()
  overload(s, { turns: 500, priorities: ['begun', 'begun', 'new'] })
  assert.equal(count(s.rejected, 'begun'), 0)
  assert.equal(count(s.served, 'new'), 0)
  assert.ok(count(s.rejected, 'new') > 400 * PER_PRIORITY)
})

test('rejects most requests of a long overload when they arrive', () => {
  const s = scene()
  overload(s, { turns: 100 })
  const before = s.rejected.length
  let late = 0
  for (let turn = 0; turn < 500; turn++) {
    const from = s.rejected.length
    overload(s, { turns: 1 })
    late += s.rejected.slice(from).filter(({ arrivedMs }) => arrivedMs < s.now() - 10).length
  }
  const rejected = s.rejected.length - before
  assert.ok(rejected > 15_000)
  assert.ok(late < rejected / 5, `${late} of ${rejected}`)
})

test('rejects nothing of a burst that is served in time', () => {
  const s = scene()
  for (let index = 0; index < PLACES; index++) s.add('new')
  while (s.waiting.size > 0) {
    s.turn()
    s.advance(10)
  }
  assert.ok(s.now() < NEW_WAIT_MS)
  assert.equal(s.rejected.length, 0)
})

test('rejects new work that nothing serves for half a second, and begun sessions after two', () => {
  for (const priority of SHED_PRIORITIES)
    for (const standing of SHED_STANDINGS) {
      const s = scene()
      const isBegun = priority === 'begun' && standing !== 'unknown'
      const request = s.add(priority, { standing })
      s.advance((isBegun ? BEGUN_WAIT_MS : NEW_WAIT_MS) - 1)
      s.turn(0)
      assert.deepEqual(s.rejected, [])
      s.advance(1)
      s.turn(0)
      assert.deepEqual(s.rejected, [request])
    }
})

/** A create was rejected so long ago. */
function afterRejection(ms: number) {
  const s = scene()
  s.add('new')
  s.advance(NEW_WAIT_MS)
  s.turn(0)
  s.advance(ms)
  s.rejected.length = 0
  return s
}

test('rejects on arrival what a turn cannot start, for ten seconds after a rejection', () => {
  for (const [ms, places] of [
    [SHORT_FOR_MS - 1, REQUESTS_PER_TURN],
    [SHORT_FOR_MS, PLACES],
  ] as const) {
    const s = afterRejection(ms)
    const requests = Array.from({ length: places + 10 }, () => s.add('new'))
    assert.deepEqual(s.rejected, requests.slice(places))
  }
})

test('rejects no more of higher ranks after a rejection', () => {
  const s = afterRejection(0)
  for (let index = 0; index < PLACES; index++) s.add('begun')
  assert.deepEqual(s.rejected, [])
  assert.equal(s.waiting.isShort('begun', s.now()), false)
  assert.equal(s.waiting.isShort('new', s.now()), true)
})

test('keeps more places for begun sessions than a turn starts, also after a rejection', () => {
  const s = scene()
  s.add('begun')
  s.advance(BEGUN_WAIT_MS)
  s.turn(0)
  s.rejected.length = 0
  for (let index = 0; index < PLACES; index++) s.add('begun')
  assert.deepEqual(s.rejected, [])
})

test('shares the places of a rank equally between its flows, and gives each one', () => {
  const s = afterRejection(0)
  for (let index = 0; index < 100; index++) s.add('new', { flow: 'flood' })
  s.rejected.length = 0
  const of = (flow: string) => s.rejected.filter((request) => request.flow === flow).length
  for (let index = 0; index < REQUESTS_PER_TURN; index++) s.add('new', { flow: 'other' })
  assert.equal(of('other'), REQUESTS_PER_TURN / 2)
  for (let flow = 0; flow < 100; flow++) s.add('new', { flow: `${flow}` })
  assert.equal(s.rejected.length, REQUESTS_PER_TURN / 2)
  s.turn()
  const served = new Set(s.served.map(({ flow }) => flow))
  assert.equal(served.size, REQUESTS_PER_TURN)
})

test('bounds the requests that wait in a rank, however many callers there are', () => {
  const s = scene()
  for (let flow = 0; flow < 2 * PLACES; flow++)
    s.add('new', { standing: 'unknown', flow: `${flow}` })
  assert.equal(s.waiting.size, PLACES)
})

test('rotates between the flows of a rank', () => {
  const s = scene()
  for (let index = 0; index < 100; index++) s.add('new', { flow: 'flood' })
  for (let index = 0; index < 10; index++) s.add('new', { flow: 'other' })
  s.turn()
  assert.equal(s.served.filter(({ flow }) => flow === 'other').length, 10)
})

test('starts as many requests as the store can take', () => {
  for (const [free, started] of [
    [1, REQUESTS_PER_TURN],
    [0.25, REQUESTS_PER_TURN / 4],
    [0, 0],
    [-0.5, 0],
  ] as const) {
    const s = scene()
    for (let index = 0; index < 2 * REQUESTS_PER_TURN; index++) s.add('new')
    s.turn(free)
    assert.equal(s.served.length, started)
  }
})

test('starts few requests of unknown callers in a turn', () => {
  const s = scene()
  for (let index = 0; index < REQUESTS_PER_TURN; index++) s.add('new', { standing: 'unknown' })
  s.turn()
  assert.equal(s.served.length, UNKNOWN_PER_TURN)
  for (let index = 0; index < UNKNOWN_PER_TURN; index++) s.add('new')
  s.turn()
  const known = s.served.slice(UNKNOWN_PER_TURN)
  assert.equal(known.length, UNKNOWN_PER_TURN)
  assert.ok(known.every(({ standing }) => standing === 'within'))
})

test('keeps one place of 32 for unknown callers', () => {
  const s = scene()
  for (let index = 0; index < 200; index++) s.add('new')
  for (let index = 0; index < 3; index++) s.add('begun', { standing: 'unknown' })
  for (let turn = 0; turn < 3; turn++) s.turn()
  assert.equal(s.served.filter(({ standing }) => standing === 'unknown').length, 3)
  assert.equal(s.served.length, 3 * REQUESTS_PER_TURN)
})

test('decides the fate of each request once, and serves the highest ranks', () => {
  const step = fc.record({
    arrivals: fc.array(
      fc.record({
        priority: fc.constantFrom(...SHED_PRIORITIES),
        // The place of unknown callers is an exception to the order.
        standing: fc.constantFrom('within', 'above'),
        flow: fc.constantFrom('a', 'b', 'c'),
      }),
      { maxLength: 40 },
    ),
    free: fc.double({ min: 0, max: 1, noNaN: true }),
    ms: fc.integer({ min: 0, max: 400 }),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), (steps) => {
      const s = scene()
      const added: Request[] = []
      for (const { arrivals, free, ms } of steps) {
        for (const { priority, ...claim } of arrivals) added.push(s.add(priority, claim))
        const before = s.served.length
        s.turn(free)
        const lowest = Math.max(-1, ...s.served.slice(before).map(rankOf))
        const fates = new Set([...s.served, ...s.rejected])
        const waiting = added.filter((request) => !fates.has(request))
        assert.ok(waiting.every((request) => rankOf(request) >= lowest))
        assert.equal(s.waiting.size, waiting.length)
        s.advance(ms)
      }
      s.advance(BEGUN_WAIT_MS)
      s.turn(0)
      assert.equal(s.waiting.size, 0)
      const fates = [...s.served, ...s.rejected].map(({ name }) => name)
      assert.deepEqual(
        fates.toSorted((a, b) => a - b),
        added.map(({ name }) => name),
      )
    }),
    { numRuns: 200 },
  )
})

test('rejects nothing while a queue that is never empty serves each request in time', () => {
  const queue = scene()
  const { waiting, served, rejected } = queue
  for (let caller = 0; caller < 256; caller++) queue.add('new')
  // Each caller sends its next request when the last one is served. A turn syncs to a slow disk.
  for (let turns = 0; turns < 200; turns++) {
    queue.advance(33)
    const before = served.length
    queue.turn()
    for (let next = before; next < served.length; next++) queue.add('new')
  }
  assert.equal(waiting.size, 256)
  assert.deepEqual(rejected, [])
})
