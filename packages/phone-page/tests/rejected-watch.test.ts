import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClaimedSession, type Phone, PhoneError } from '@bonded/phone'
import type { Screen } from '../src/screen.ts'
import { Stage } from '../src/stage.ts'
import { REQUEST } from './failing-phone.ts'

/** What a page shows whose session it can no longer follow. */
async function shownAfter(failure: PhoneError, members: object = {}): Promise<Screen> {
  const stage = new Stage({
    phone: { waitForEnd: () => Promise.reject(failure) } as Partial<Phone> as Phone,
    tab: { isAnotherRequest: () => false },
    recovery: { await() {}, hurry() {}, stop() {} },
    link: '',
    appLink: null,
    show() {},
  })
  const session = { ...REQUEST, state: 'pending', ...members }
  const known = { session, server_time: { read_at_ms: 0 } } as unknown as ClaimedSession
  stage.claimed = known
  stage.presentClaimed(known)
  await new Promise(setImmediate)
  return stage.screen
}
const refused = (reason: string, status: number) => new PhoneError('refused', { reason, status })

for (const [reason, status, problem] of [
  ['device_not_usable', 403, 'phone_not_accepted'],
  ['credential_invalid', 401, 'phone_unknown'],
] as const)
  test(`an open request whose phone is rejected as ${reason} has not expired`, async () => {
    const screen = await shownAfter(refused(reason, status))
    assert.equal('problem' in screen ? screen.problem : screen.name, problem)
  })

for (const failure of [
  refused('session_not_found', 404),
  refused('store_unavailable', 503),
  new PhoneError('unreachable'),
])
  test(`an open request has expired after ${failure.reason ?? failure.code}`, async () => {
    const screen = await shownAfter(failure)
    assert.equal('end' in screen ? screen.end : screen.name, 'expired')
  })

test('an approval stays one for a phone that is rejected after it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const bonded = { state: 'bonded', reported_at: null }
  const screen = await shownAfter(refused('device_not_usable', 403), bonded)
  assert.equal(screen.name, 'unreported')
})
