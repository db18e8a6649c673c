import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { OwnChanges } from '../src/postgres/own-changes.ts'

const ID = 'sess_a' as SessionId

test('knows a change of this node and earlier ones of its session, and none of other sessions', () => {
  const own = new OwnChanges()
  own.record(ID, 3)
  own.record(ID, 2)
  assert.deepEqual(
    [2, 3, 4].map((seq) => own.has(ID, seq)),
    [true, true, false],
  )
  assert.ok(!own.has('sess_b' as SessionId, 1))
})

test('discards a change after the first read that began after it, so that memory does not grow', () => {
  const own = new OwnChanges()
  own.record(ID, 2)
  own.beginRead()
  own.record(ID, 3)
  assert.ok(own.has(ID, 2) && own.has(ID, 3))
  own.endRead(true)
  assert.ok(own.has(ID, 3))
  own.beginRead()
  own.endRead(true)
  assert.ok(!own.has(ID, 2))
})

test('knows a change after a read that failed', () => {
  const own = new OwnChanges()
  own.record(ID, 3)
  own.beginRead()
  own.record(ID, 2)
  own.endRead(false)
  assert.ok(own.has(ID, 3))
})
