import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { DeviceId } from '@bonded/contract'
import { noMeter, type WakeUpResult } from '@bonded/core/ports/meter'
import { harness } from '../../../tests/harness/harness.ts'
import { transportTo } from '../../../tests/harness/push-service.ts'

const CHROME = 'https://fcm.googleapis.com/send'
const FIREFOX = 'https://updates.push.services.mozilla.com/a'

/** A service whose push services answer only once the test says so. */
async function heldScene() {
  const counted = new Map<WakeUpResult, number>()
  const sent: string[] = []
  const held = new Set<() => void>()
  let maxOpen = 0
  const h = await harness({
    meter: {
      ...noMeter,
      wokePhone: (result) => void counted.set(result, (counted.get(result) ?? 0) + 1),
    },
    push: (clock) => ({
      ...transportTo(0, clock),
      send({ endpoint }, signal) {
        const { promise, resolve } = Promise.withResolvers<void>()
        sent.push(endpoint)
        held.add(resolve)
        maxOpen = Math.max(maxOpen, held.size)
        signal.addEventListener('abort', () => resolve())
        return promise
          .finally(() => held.delete(resolve))
          .then(() =>
            signal.aborted ? { error: 'closed_early' as const } : { status: 201, body: '' },
          )
      },
    }),
  })
  return {
    h,
    counted,
    sent,
    maxOpen: () => maxOpen,
    wake(...endpoints: string[]) {
      h.service.wakeUps.add(
        endpoints.map((endpoint) => ({ deviceId: 'dev_1' as DeviceId, endpoint })),
      )
    },
    /** Resolves once that many messages were sent. */
    async reached(count: number) {
      while (sent.length < count) await turn()
    },
    async answerAll(count: number) {
      while (sent.length < count || held.size > 0) {
        for (const answer of held) answer()
        await turn()
      }
    },
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}

test('a slow push service has 32 open sends and 1,000 that wait, and delays no other', async () => {
  await using scene = await heldScene()
  const { counted, sent } = scene
  scene.wake(...Array.from({ length: 1_500 }, (_, phone) => `${CHROME}/${phone}`))
  assert.deepEqual([...counted], [['dropped', 468]])
  await scene.reached(32)
  scene.wake(FIREFOX)
  await scene.reached(33)
  assert.equal(sent.at(-1), FIREFOX)
  assert.equal(scene.maxOpen(), 33)
  await scene.answerAll(1_033)
  assert.equal(scene.maxOpen(), 33)
  assert.deepEqual(sent.filter((endpoint) => endpoint !== FIREFOX).length, 1_032)
  assert.deepEqual(Object.fromEntries(counted), { dropped: 468, delivered: 1_033 })
})

test('all hosts of a push service share its open sends, because phones choose them', async () => {
  await using scene = await heldScene()
  const hosts = Array.from({ length: 1_100 }, (_, n) => `https://n${n}.notify.windows.com/w`)
  scene.wake(...hosts)
  assert.deepEqual([...scene.counted], [['dropped', 68]])
  await scene.answerAll(1_032)
  assert.equal(scene.maxOpen(), 32)
})

test('a wake-up to a host that the operator has removed is dropped', async () => {
  await using scene = await heldScene()
  scene.wake('https://push.bank.example/a')
  assert.deepEqual([...scene.counted], [['dropped', 1]])
})

test('a shutdown ends the open sends, and begins no other', async () => {
  await using scene = await heldScene()
  scene.wake(...Array.from({ length: 100 }, (_, phone) => `${CHROME}/${phone}`))
  await scene.reached(32)
  await scene.h.restart()
  assert.equal(scene.sent.length, 32)
  assert.deepEqual([...scene.counted], [['no_response', 32]])
})
