import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cibaHarness } from './harness.ts'

test('a user who is blocked between the approval and the token gives no token', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const path = `/subjects/${h.inbox.subjectRef}/block`
  const blocked = await h.inbox.h.api('POST', path, { token: h.credential })
  assert.equal(blocked.status, 200)
  h.pause()
  await assert.rejects(h.poll(auth_req_id), { error: 'access_denied' })
})
