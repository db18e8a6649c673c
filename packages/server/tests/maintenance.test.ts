import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { harness } from '../../../tests/harness/harness.ts'
import { ClockGuard } from '../src/clock-guard.ts'
import { startMaintenance } from '../src/maintenance.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('nodes that have nothing to say exchange limits once a second, and others four times', async () => {
  await using h = await harness()
  let result: 'silent' | 'spoken' = 'silent'
  let exchanges = 0
  const peers = {
    ...h.service.peers,
    exchange: async () => {
      exchanges++
      return result
    },
  }
  const stop = startMaintenance(
    { ...h.service, peers },
    { log: pino({ level: 'silent' }), guard: new ClockGuard(h.clock) },
  )
  const inASecond = async () => {
    const before = exchanges
    for (let quarters = 0; quarters < 4; quarters++) {
      h.clock.advance(250)
      await turn()
    }
    return exchanges - before
  }
  await inASecond()
  assert.equal(await inASecond(), 1)
  result = 'spoken'
  await inASecond()
  assert.equal(await inASecond(), 4)
  stop()
})
