import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId } from '@bonded/contract'
import { CredentialUse } from '../../src/collections/credential-use.ts'
import { once } from '../../src/collections/once.ts'
import { type WakeUp, WakeUps } from '../../src/collections/wake-ups.ts'

test('the latest use of each credential is taken once', () => {
  const uses = new CredentialUse()
  uses.note('a', 1)
  uses.note('b', 2)
  uses.note('a', 3)
  assert.deepEqual(
    [...uses.take()],
    [
      ['a', 3],
      ['b', 2],
    ],
  )
  assert.deepEqual([...uses.take()], [])
})

test('a use that could not be stored comes back, unless there was a later one', () => {
  const uses = new CredentialUse()
  uses.note('a', 5)
  uses.restore('a', 3)
  uses.restore('b', 4)
  assert.deepEqual(
    [...uses.take()],
    [
      ['a', 5],
      ['b', 4],
    ],
  )
})

test('phones to wake reach the listener, and no phones do not', () => {
  const wakeUps = new WakeUps()
  const one: WakeUp = { deviceId: 'dev_1' as DeviceId, endpoint: 'https://push.example' }
  wakeUps.add([one])
  const heard: unknown[] = []
  wakeUps.listen((each) => heard.push(each))
  wakeUps.add([])
  wakeUps.add([one])
  assert.deepEqual(heard, [[one]])
})

test('what is computed once is computed at the first call, also where it is undefined', () => {
  let calls = 0
  const value = once(() => void (calls += 1))
  assert.equal(calls, 0)
  assert.deepEqual([value(), value(), calls], [undefined, undefined, 1])
})
