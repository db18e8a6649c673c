import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedSession, Phone, PhoneSignals } from '@bonded/phone'
import { createDeciding } from '../src/decide.ts'
import { Stage, type StageDependencies } from '../src/stage.ts'
import { REQUEST } from './failing-phone.ts'

const claimed = (state: string) =>
  ({ session: { ...REQUEST, state }, server_time: { read_at_ms: 0 } }) as unknown as ClaimedSession
const SIGNALS = {
  local_auth: { result: 'failed', method: 'none', at_ms: 0 },
  sensor_continuity_missing: 'denied',
} as const satisfies PhoneSignals

/** A page whose user has tapped Approve, and whose evidence the test completes. */
function approving() {
  const end = Promise.withResolvers<ClaimedSession>()
  const ahead = Promise.withResolvers<PhoneSignals | undefined>()
  const motion = Promise.withResolvers<void>()
  let signed = 0
  const phone = {
    waitForEnd: () => end.promise,
    async approve(open, { gather }) {
      await gather({ required: [], reasons: [], attempts_left: undefined })
      signed++
      return open
    },
  } as Partial<Phone> as Phone
  const stage = new Stage({
    phone,
    tab: { isAnotherRequest: () => false },
    recovery: { await() {}, hurry() {}, stop() {} },
    link: '',
    appLink: null,
    show() {},
  } satisfies StageDependencies)
  const recorder = { complete: () => motion.promise, signals: () => SIGNALS }
  const deciding = createDeciding(stage, {
    phone,
    motion: recorder as Partial<StageMotion> as StageMotion,
    evidence: { take: () => ahead.promise },
  })
  const open = claimed('pending')
  stage.claimed = open
  stage.presentClaimed(open)
  const done = deciding.approve(open)
  return { stage, ahead, motion, end: end.resolve, done, signed: () => signed }
}
type StageMotion = Parameters<typeof createDeciding>[1]['motion']

for (const [state, screen] of [
  ['killed', 'ended'],
  ['completed', 'completed'],
] as const)
  for (const from of ['ahead', 'anew'] as const)
    test(`signs nothing for a session that is ${state} while its evidence is gathered ${from}`, async () => {
      const { stage, ahead, motion, end, done, signed } = approving()
      if (from === 'anew') ahead.resolve(undefined)
      end(claimed(state))
      // The page learns of the end before the evidence is complete.
      await new Promise(setImmediate)
      assert.equal(stage.screen.name, screen)
      ahead.resolve(SIGNALS)
      motion.resolve()
      await done
      assert.deepEqual([stage.screen.name, signed()], [screen, 0])
    })

test('signs for a session that is open when its evidence is complete', async () => {
  const { ahead, done, signed } = approving()
  ahead.resolve(SIGNALS)
  await done
  assert.equal(signed(), 1)
})
