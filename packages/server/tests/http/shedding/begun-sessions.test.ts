import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRIORITIES } from '../../../src/http/shedding/priority.ts'
import {
  ACCEPTABLE_WAIT_MS,
  BEGUN_WAIT_MS,
  BURST_WAIT_MS,
  LATE_LEFT_PLACES,
  LOWER_SHED_FOR_MS,
  MOST_LEFT_PLACES,
  OVERLOADED_WAIT_MS,
  RECOVERED_AFTER_MS,
  RELAPSE_WITHIN_MS,
} from '../../../src/http/shedding/waiting-requests.ts'
import { count, overload, scene } from './waiting-scene.ts'

/** A pause of the database: requests of all priorities arrive, and none can start. */
function pause(s: ReturnType<typeof scene>, ms: number) {
  const before = s.rejected.length
  for (let passed = 0; passed < ms; passed += 10) {
    for (const priority of PRIORITIES) s.add(priority)
    s.turn(0)
    s.advance(10)
  }
  return s.rejected.slice(before)
}

test('rejects only new work while the database pauses during an overload', () => {
  const s = scene()
  overload(s, { ms: 3_000, capacity: 4 })
  const rejected = pause(s, BEGUN_WAIT_MS)
  assert.ok(count(rejected, 'create') > 100)
  for (const priority of ['completion', 'attestation', 'gate'] as const)
    assert.equal(count(rejected, priority), 0, priority)
  s.turn(1_000)
  assert.equal(count(s.rejected, 'attestation'), 0)
})

test('rejects a request of a begun session that nothing serves for two seconds, and keeps later ones', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 4 })
  const first = s.add('attestation')
  s.advance(BEGUN_WAIT_MS - 1)
  const second = s.add('attestation')
  s.turn(0)
  assert.ok(!s.rejected.includes(first))
  s.advance(1)
  s.turn(0)
  assert.ok(s.rejected.includes(first))
  s.advance(BURST_WAIT_MS)
  s.turn(0)
  assert.ok(!s.rejected.includes(second))
})

test('rejects attestations soon when for five seconds nothing below them has been served', () => {
  const s = scene()
  overload(s, { ms: 3_000, capacity: 4 })
  overload(s, { ms: LOWER_SHED_FOR_MS + BEGUN_WAIT_MS, capacity: 1 })
  assert.equal(s.waiting.isOverloaded('attestation', s.now()), true)
  assert.equal(s.waiting.isOverloaded('completion', s.now()), false)
  const request = s.add('attestation')
  s.turn(0, OVERLOADED_WAIT_MS)
  assert.ok(s.rejected.includes(request))
})

test('lets no unknown caller wait as long as a begun session', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 5 })
  const request = s.add('attestation', { standing: 'unknown' })
  s.advance(BURST_WAIT_MS)
  s.turn(0)
  assert.ok(s.rejected.includes(request))
})

/** Begun sessions of a flooding tenant have waited, and it creates further ones. */
function lateFlood(waitMs = ACCEPTABLE_WAIT_MS) {
  const s = scene()
  s.add('attestation', { standing: 'above' })
  s.advance(waitMs)
  s.turn(1)
  s.add('create', { standing: 'above' })
  return s
}

test('admits few new sessions of a flooding tenant for ten seconds after its begun ones were late', () => {
  const s = lateFlood()
  assert.equal(s.waiting.leftPlaces(s.now()), LATE_LEFT_PLACES)
  s.advance(RELAPSE_WITHIN_MS)
  assert.equal(s.waiting.leftPlaces(s.now()), MOST_LEFT_PLACES)
  const inTime = lateFlood(ACCEPTABLE_WAIT_MS - 1)
  assert.equal(inTime.waiting.leftPlaces(inTime.now()), MOST_LEFT_PLACES)
})

test('admits begun sessions and other tenants as before while a flooding tenant is late', () => {
  const s = lateFlood()
  s.add('attestation', { standing: 'above' })
  assert.ok(s.waiting.leftPlaces(s.now()) < MOST_LEFT_PLACES)
  s.add('create', { standing: 'within' })
  assert.ok(s.waiting.leftPlaces(s.now()) < MOST_LEFT_PLACES)
})

test('gives other tenants the time of a burst beside a flood, although they were rejected before', () => {
  const s = scene()
  overload(s, { ms: 1_000, capacity: 3 })
  s.turn(100)
  s.advance(RECOVERED_AFTER_MS)
  s.add('status', { standing: 'above' })
  s.turn(1)
  const request = s.add('create')
  s.advance(BURST_WAIT_MS - 1)
  s.turn(0)
  assert.ok(!s.rejected.includes(request))
  s.advance(1)
  s.turn(0)
  assert.ok(s.rejected.includes(request))
})

test('rejects other tenants soon when the flood has not been served for five seconds', () => {
  const s = scene()
  s.add('status', { standing: 'above' })
  s.turn(1)
  overload(s, { ms: LOWER_SHED_FOR_MS + BURST_WAIT_MS, capacity: 3 })
  const request = s.add('create')
  s.turn(0, OVERLOADED_WAIT_MS)
  assert.ok(s.rejected.includes(request))
})
