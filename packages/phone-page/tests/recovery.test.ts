import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecovery } from '../src/recovery.ts'

/** A recovery on a clock and a service that the test controls. */
function recovering() {
  let isBack = false
  let probes = 0
  let scheduled: { delayMs: number; act: () => void } | undefined
  const delays: number[] = []
  const recovery = createRecovery({
    probe: () => {
      probes++
      return Promise.resolve(isBack)
    },
    schedule(delayMs, act) {
      delays.push(delayMs)
      const timer = { delayMs, act }
      scheduled = timer
      return () => {
        if (scheduled === timer) scheduled = undefined
      }
    },
    random: () => 1,
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    recovery,
    delays,
    probes: () => probes,
    isWaiting: () => scheduled !== undefined,
    comeBack: () => (isBack = true),
    settle,
    fire: async () => {
      const timer = scheduled
      scheduled = undefined
      timer?.act()
      await settle()
    },
  }
}

test('probes with growing delays until the service responds, then acts once', async () => {
  const { recovery, delays, fire, comeBack, isWaiting } = recovering()
  let acts = 0
  recovery.await(() => acts++)
  for (let probe = 0; probe < 5; probe++) await fire()
  assert.deepEqual(delays, [2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
  assert.equal(acts, 0)
  comeBack()
  await fire()
  assert.deepEqual([acts, isWaiting()], [1, false])
  recovery.hurry()
  assert.equal(acts, 1)
})

test('probes at once when the browser is connected again', async () => {
  const { recovery, comeBack, settle, isWaiting } = recovering()
  let acts = 0
  recovery.await(() => acts++)
  comeBack()
  recovery.hurry()
  recovery.hurry()
  await settle()
  assert.deepEqual([acts, isWaiting()], [1, false])
})

test('stops, and a later wait replaces an earlier one', async () => {
  const { recovery, comeBack, settle, fire, isWaiting } = recovering()
  const acts: string[] = []
  recovery.await(() => acts.push('first'))
  recovery.await(() => acts.push('second'))
  comeBack()
  await fire()
  assert.deepEqual(acts, ['second'])
  recovery.await(() => acts.push('third'))
  recovery.stop()
  recovery.hurry()
  await settle()
  assert.deepEqual([acts, isWaiting()], [['second'], false])
})

test('gives up after some minutes', async () => {
  const { recovery, fire, probes, isWaiting } = recovering()
  recovery.await(() => assert.fail('the service never answered'))
  for (let probe = 0; probe < 100; probe++) await fire()
  assert.deepEqual([probes(), isWaiting()], [60, false])
})
