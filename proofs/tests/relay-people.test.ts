import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../tests/browser.ts'
import { Sandbox } from '../../packages/phone-page/tests/sandbox.ts'
import { openPhone } from '../relay/rig/people.ts'

/*
 * The phone of `npm run prove:relay` taps once. A scenario whose phone did not approve would prove
 * nothing, so it reports what the page shows instead.
 */

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

test(
  'taps once, and reports the request where the approval did not arrive',
  browserTest,
  async () => {
    await using phone = await openPhone(sandbox.browser)
    let isLost = true
    await phone.context.route('**/attestations', (route) =>
      isLost ? route.abort() : route.continue(),
    )
    const session = await sandbox.create()
    assert.equal(await phone.tryToApprove(session), 'request')
    await assert.rejects(phone.approve(session), /the phone did not approve: request/)
    isLost = false
    assert.equal(await phone.tryToApprove(session), 'approved')
  },
)

test('reports the end of a session that it cannot approve', browserTest, async () => {
  await using phone = await openPhone(sandbox.browser)
  const session = await sandbox.create()
  await phone.approve(session)
  await sandbox.complete(session)
  assert.equal(await phone.tryToApprove(session), 'completed')
})
