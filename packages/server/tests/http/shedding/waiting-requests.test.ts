import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PRIORITIES } from '../../../src/http/shedding/priority.ts'
import {
  ACCEPTABLE_WAIT_MS,
  BURST_WAIT_MS,
  OVERLOADED_AFTER_MS,
  OVERLOADED_PLACES,
  OVERLOADED_WAIT_MS,
  RELAPSE_WITHIN_MS,
  STANDINGS,
  type WaitingRequest,
} from '../../../src/http/shedding/waiting-requests.ts'
import { count, overload, type Request, scene } from './waiting-scene.ts'

const rankOf = ({ standing, priority }: WaitingRequest) =>
  STANDINGS.indexOf(standing) * PRIORITIES.length + PRIORITIES.indexOf(priority)

test('serves by priority, whatever the order of arrival', () => {
  const s = scene()
  for (const priority of PRIORITIES.toReversed()) s.add(priority)
  s.turn(PRIORITIES.length)
  assert.deepEqual(
    s.served.map(({ priority }) => priority),
    PRIORITIES,
  )
})

test('serves callers within their share before callers above it, and unknown callers last', () => {
  const s = scene()
  s.add('completion', { standing: 'unknown' })
  s.add('completion', { standing: 'above' })
  s.add('status', { standing: 'within' })
  s.turn(3)
  assert.deepEqual(
    s.served.map(({ standing }) => standing),
    ['within', 'above', 'unknown'],
  )
})

test('rejects status reads first, then creates, gate reads, and attestations', () => {
  for (const capacity of [4, 3, 2, 1]) {
    const s = scene()
    overload(s, { ms: 5_000, capacity })
    const kept = PRIORITIES.slice(0, capacity)
    for (const priority of kept) assert.equal(count(s.rejected, priority), 0, priority)
    for (const priority of PRIORITIES.slice(capacity)) {
      assert.equal(count(s.served, priority), 0, priority)
      assert.ok(count(s.rejected, priority) > 4_900, priority)
    }
  }
})

test('rejects a request of an overloaded lane after 10 ms', () => {
  const s = scene()
  overload(s, { ms: OVERLOADED_AFTER_MS + 1_000, capacity: 3 })
  const before = s.rejected.length
  const request = s.add('status')
  for (let ms = 0; ms < OVERLOADED_WAIT_MS; ms++) {
    s.turn(0)
    assert.ok(!s.rejected.includes(request))
    s.advance(1)
  }
  s.turn(0)
  assert.ok(s.rejected.includes(request))
  assert.ok(s.rejected.length > before)
})

test('rejects nothing of a burst that is served within 250 ms', () => {
  const s = scene()
  for (let index = 0; index < 500; index++) s.add('create')
  while (s.waiting.size > 0) {
    s.turn(3)
    s.advance(1)
  }
  assert.ok(s.now() < OVERLOADED_AFTER_MS)
  assert.equal(s.rejected.length, 0)
})

test('rejects a request that nothing serves for a second', () => {
  const s = scene()
  const request = s.add('status')
  s.advance(BURST_WAIT_MS)
  s.turn(0)
  assert.deepEqual(s.rejected, [request])
})

test('rejects nothing again as soon as the load is below the capacity', () => {
  const s = scene()
  overload(s, { ms: 5_000, capacity: 3 })
  // What still waits is served or rejected in these milliseconds.
  overload(s, { ms: OVERLOADED_WAIT_MS + 2, capacity: 6 })
  const before = s.rejected.length
  overload(s, { ms: 5_000, capacity: 6 })
  assert.equal(s.rejected.length, before)
})

test('rejects at a steady rate during a steady overload', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 3 })
  const perSecond: number[] = []
  for (let second = 0; second < 10; second++) {
    const before = s.rejected.length
    overload(s, { ms: 1_000, capacity: 3 })
    perSecond.push(s.rejected.length - before)
  }
  for (const count of perSecond) assert.ok(Math.abs(count - 2_000) <= 10, `${count} a second`)
})

/** An overload that ended so long ago, in which status reads were rejected. */
function afterOverload(ms: number) {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 4 })
  s.turn(100)
  s.turn(0)
  assert.equal(s.waiting.size, 0)
  s.advance(ms)
  return s
}

test('rejects after 10 ms in a lane that has rejected within ten seconds, and in those below it', () => {
  for (const standing of ['within', 'above'] as const) {
    const s = afterOverload(RELAPSE_WITHIN_MS / 2)
    assert.equal(s.waiting.isOverloaded('status', s.now()), false)
    const request = s.add('status', { standing })
    s.advance(OVERLOADED_WAIT_MS)
    s.turn(0)
    assert.ok(s.rejected.includes(request), standing)
  }
})

test('gives a lane the time of a burst again when it has rejected nothing for ten seconds', () => {
  const s = afterOverload(RELAPSE_WITHIN_MS)
  const request = s.add('status')
  s.advance(OVERLOADED_AFTER_MS - 1)
  s.turn(0)
  assert.ok(!s.rejected.includes(request))
})

test('gives a lane above a rejecting one the time of a burst', () => {
  const s = afterOverload(0)
  const request = s.add('create')
  s.advance(OVERLOADED_AFTER_MS - 1)
  s.turn(0)
  assert.ok(!s.rejected.includes(request))
})

test('keeps a lane overloaded that is empty for a moment', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 3 })
  s.turn(100)
  assert.equal(s.waiting.size, 0)
  const request = s.add('status')
  s.advance(OVERLOADED_WAIT_MS)
  s.turn(0)
  assert.ok(s.rejected.includes(request))
})

test('rejects on arrival what finds the places of an overloaded lane taken', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 3 })
  s.turn(100)
  const before = s.rejected.length
  const requests = Array.from({ length: 20 }, () => s.add('create'))
  assert.deepEqual(s.rejected.slice(before), requests.slice(OVERLOADED_PLACES))
  s.turn(OVERLOADED_PLACES)
  assert.deepEqual(s.served.slice(-OVERLOADED_PLACES), requests.slice(0, OVERLOADED_PLACES))
})

test('gives every flow a place, and takes further ones from the longest flow', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 3 })
  s.turn(100)
  const flood = Array.from({ length: 100 }, () => s.add('create', { flow: 'flood' }))
  const first = s.add('create', { flow: 'other' })
  const second = s.add('create', { flow: 'other' })
  assert.ok(!s.rejected.includes(first) && !s.rejected.includes(second))
  assert.equal(s.rejected.at(-1), flood[OVERLOADED_PLACES - 1])
  s.turn(4)
  assert.deepEqual(
    s.served.slice(-4).map(({ flow }) => flow),
    ['flood', 'other', 'flood', 'other'],
  )
})

test('rejects after a turn what would have waited too long by the next one', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 3 })
  s.turn(100)
  const request = s.add('status')
  s.advance(2)
  s.turn(0, OVERLOADED_WAIT_MS - 3)
  assert.ok(!s.rejected.includes(request))
  s.turn(0, OVERLOADED_WAIT_MS - 2)
  assert.ok(s.rejected.includes(request))
})

test('rejects hardly any request late during a long overload', () => {
  const s = scene()
  const waited: number[] = []
  for (let ms = 0; ms < 10_000; ms++) {
    const before = s.rejected.length
    overload(s, { ms: 1, capacity: ms % 7 === 0 ? 9 : 2 })
    for (const { arrivedMs } of s.rejected.slice(before)) waited.push(s.now() - 1 - arrivedMs)
  }
  const late = waited.filter((ms) => ms > OVERLOADED_WAIT_MS)
  assert.ok(waited.length > 15_000)
  assert.ok(late.length < 3 * OVERLOADED_AFTER_MS, `${late.length} of ${waited.length}`)
})

test('ends the overload of a lane when lower ranks are served instead of it', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 2 })
  assert.equal(s.waiting.isOverloaded('gate', s.now()), true)
  overload(s, { ms: 200, capacity: 4 })
  assert.equal(s.waiting.isOverloaded('gate', s.now()), false)
  assert.equal(s.waiting.isOverloaded('status', s.now()), true)
})

test('rotates between the flows of a lane', () => {
  const s = scene()
  for (let index = 0; index < 100; index++) s.add('create', { flow: 'flood' })
  for (let index = 0; index < 10; index++) s.add('create', { flow: 'other' })
  s.turn(20)
  assert.equal(s.served.filter(({ flow }) => flow === 'other').length, 10)
})

test('drops a request of the longest flow that ranks last when too many wait', () => {
  const s = scene(100)
  for (let index = 0; index < 90; index++) s.add('status', { flow: 'flood' })
  for (let index = 0; index < 10; index++) s.add('status', { flow: 'other' })
  for (let index = 0; index < 50; index++) s.add('completion')
  assert.equal(s.waiting.size, 100)
  assert.equal(s.rejected.length, 50)
  assert.ok(s.rejected.every(({ priority, flow }) => priority === 'status' && flow === 'flood'))
})

test('decides the fate of each request once, and rejects none while a lower one is served', () => {
  const step = fc.record({
    arrivals: fc.array(
      fc.record({
        priority: fc.constantFrom(...PRIORITIES),
        standing: fc.constantFrom(...STANDINGS),
        flow: fc.constantFrom('a', 'b', 'c'),
      }),
      { maxLength: 12 },
    ),
    capacity: fc.integer({ min: 0, max: 6 }),
    ms: fc.integer({ min: 0, max: 40 }),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 80 }), (steps) => {
      const s = scene()
      const added: Request[] = []
      const servedAt = new Map<Request, number>()
      const addedAt = new Map<Request, number>()
      for (const [now, { arrivals, capacity, ms }] of steps.entries()) {
        for (const { priority, ...claim } of arrivals) {
          const request = s.add(priority, claim)
          added.push(request)
          addedAt.set(request, now)
        }
        const rejectedBefore = s.rejected.length
        const servedBefore = s.served.length
        s.turn(capacity)
        for (const request of s.served.slice(servedBefore)) servedAt.set(request, now)
        for (const request of s.rejected.slice(rejectedBefore))
          for (const [other, at] of servedAt)
            assert.ok(
              at < (addedAt.get(request) ?? now) || at === now || rankOf(other) <= rankOf(request),
              'a lower request was served while this one waited',
            )
        s.advance(ms)
      }
      s.turn(added.length)
      assert.equal(s.waiting.size, 0)
      const fates = [...s.served, ...s.rejected].map(({ name }) => name)
      assert.deepEqual(
        fates.toSorted((a, b) => a - b),
        added.map(({ name }) => name),
      )
    }),
    { numRuns: 300 },
  )
})

test('rejects nothing while a queue that is never empty serves each request in time', () => {
  const queue = scene()
  const { waiting, served, rejected } = queue
  for (let caller = 0; caller < 64; caller++) queue.add('create')
  // Each caller sends its next request when the last one is served. A turn syncs to a slow disk.
  for (let turns = 0; turns < 200; turns++) {
    queue.advance(ACCEPTABLE_WAIT_MS / 3)
    const before = served.length
    queue.turn(32)
    for (let next = before; next < served.length; next++) queue.add('create')
  }
  assert.equal(waiting.size, 64)
  assert.equal(served.length, 200 * 32)
  assert.deepEqual(rejected, [])
})
