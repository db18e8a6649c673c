import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { Sandbox } from '../../phone-page/tests/sandbox.ts'
import { openPhone } from '../src/prove/relay/rig/people.ts'

/*
 * The phone of `bonded prove relay` on a busy machine: it repeats what its user would repeat, and
 * does not wait for a screen that does not come.
 */

const browserTest = { skip: browserMissing, timeout: 120_000 }
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

test('approves after a connection that was lost while it did', browserTest, async () => {
  await using phone = await openPhone(sandbox.browser)
  let lost = 0
  await phone.context.route('**/attestations', (route) =>
    lost++ < 8 ? route.abort() : route.continue(),
  )
  const session = await sandbox.create()
  assert.equal(await phone.tryToApprove(session), 'approved')
  assert.ok(lost > 8)
})

test('reports the end of a session that it cannot approve', browserTest, async () => {
  await using phone = await openPhone(sandbox.browser)
  const session = await sandbox.create()
  await phone.approve(session)
  await sandbox.complete(session)
  assert.equal(await phone.tryToApprove(session), 'completed')
})
