import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventLoopTurn } from '../../../src/http/connection/event-loop-turn.ts'

test('the number of a turn stays the same within the turn and differs in each later one', async () => {
  const first = eventLoopTurn()
  await Promise.resolve()
  assert.equal(eventLoopTurn(), first)
  const numbers = [first]
  for (let turn = 0; turn < 3; turn++) {
    // The turn of an immediate ends with the immediates that it schedules itself.
    await nextTurn()
    await nextTurn()
    numbers.push(eventLoopTurn())
  }
  assert.equal(new Set(numbers).size, numbers.length, numbers.join(', '))
})
