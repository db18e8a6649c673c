import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SHED_PRIORITIES } from '@bonded/core/ports/meter'
import {
  BEGUN_WAIT_MS,
  NEW_WAIT_MS,
  REQUESTS_PER_TURN,
} from '../../../src/http/shedding/waiting-requests.ts'
import { count, overload, scene } from './waiting-scene.ts'

test('rejects only new work while the database pauses during an overload', () => {
  const s = scene()
  overload(s, { turns: 100, priorities: ['begun', 'new', 'new'] })
  const before = s.rejected.length
  const pauseMs = BEGUN_WAIT_MS - 10
  for (let passed = 0; passed < pauseMs; passed += 10) {
    for (const priority of SHED_PRIORITIES) s.add(priority)
    s.turn(0)
    s.advance(10)
  }
  const rejected = s.rejected.slice(before)
  assert.ok(count(rejected, 'new') > 100)
  assert.equal(count(rejected, 'begun'), 0)
  const served = s.served.length
  for (let turn = 0; turn < 20; turn++) s.turn()
  assert.equal(count(s.served.slice(served), 'begun'), pauseMs / 10)
})

test('serves a tenant within its share before a flood, with the last places of the store', () => {
  const s = scene()
  for (let turn = 0; turn < 300; turn++) {
    for (const priority of SHED_PRIORITIES)
      for (let index = 0; index < 40; index++) s.add(priority, { standing: 'above' })
    const creates = [s.add('new', { flow: 'quiet' }), s.add('new', { flow: 'quiet' })]
    s.turn(2 / REQUESTS_PER_TURN)
    for (const create of creates) assert.ok(s.served.includes(create))
    s.advance(10)
  }
  assert.ok(s.served.every(({ standing }) => standing === 'within'))
})

test('lets new work of other tenants wait as long as begun sessions while a flood waits', () => {
  for (const [standing, waitMs] of [
    ['above', BEGUN_WAIT_MS],
    ['unknown', NEW_WAIT_MS],
  ] as const) {
    const s = scene()
    const request = s.add('new')
    s.advance(waitMs - 1)
    s.add('new', { standing })
    s.turn(0)
    assert.ok(!s.rejected.includes(request))
    s.advance(1)
    s.turn(0)
    assert.ok(s.rejected.includes(request))
  }
})
