import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEVICE_MOVES, type DeviceMove } from '../../src/domain/device-moves.ts'
import type { Device } from '../../src/domain/session.ts'
import { isUsable } from '../../src/domain/subject-keys.ts'

type Status = Device['status']
const STATUSES: readonly Status[] = ['active', 'suspect', 'blocked', 'removed']
const moves = Object.values<DeviceMove>(DEVICE_MOVES)
const movesFrom = (status: Status) => moves.filter(({ from }) => from.includes(status))

test('the transitions are those of the guide of phones', () => {
  const expected: Record<keyof typeof DEVICE_MOVES, DeviceMove> = {
    // A copy of a blocked device's key stays blocked.
    suspect: { from: ['active'], to: 'suspect' },
    block: { from: ['active', 'suspect'], to: 'blocked' },
    unblock: { from: ['suspect', 'blocked'], to: 'active' },
    remove: { from: ['active', 'suspect', 'blocked'], to: 'removed' },
  }
  assert.deepEqual(DEVICE_MOVES, expected)
})

test('no move leaves `removed`, and every other status can be removed', () => {
  assert.deepEqual(movesFrom('removed'), [])
  for (const status of STATUSES.filter((one) => one !== 'removed'))
    assert.ok(movesFrom(status).includes(DEVICE_MOVES.remove), status)
})

test('only the review of an operator makes a suspect or blocked device active', () => {
  const revivals = moves.filter(({ to }) => to === 'active')
  assert.deepEqual(revivals, [DEVICE_MOVES.unblock])
  const usable = moves.filter(
    ({ from, to }) => isUsable({ status: to }) && from.some((status) => !isUsable({ status })),
  )
  assert.deepEqual(usable, [DEVICE_MOVES.unblock])
})

test('a blocked device cannot become suspect, which would make it usable', () => {
  assert.ok(!movesFrom('blocked').some(({ to }) => to === 'suspect'))
})

test('no move keeps the status, so that a repetition changes nothing', () => {
  for (const { from, to } of moves) assert.ok(!from.includes(to), to)
})
