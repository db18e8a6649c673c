import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEVICE_MOVES, type DeviceMove } from '../../src/domain/device-moves.ts'
import type { Device } from '../../src/domain/session.ts'
import { isUsable } from '../../src/domain/subject-keys.ts'

type Status = Device['status']
const STATUSES: readonly Status[] = ['active', 'suspect', 'blocked', 'removed']
const moves = Object.values<DeviceMove>(DEVICE_MOVES)
const movesFrom = (status: Status) => moves.filter(({ from }) => from.includes(status))

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
