import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as client from 'openid-client'
import { cibaHarness, GRANT } from './harness.ts'

type Harness = Awaited<ReturnType<typeof cibaHarness>>

const BLOCKS: Readonly<Record<string, (h: Harness) => Promise<{ readonly status: number }>>> = {
  'the tenant blocks the user': ({ inbox: { h, subjectRef }, credential }) =>
    h.api('POST', `/subjects/${subjectRef}/block`, { token: credential }),
  'the user removes the phone': ({ inbox: { h, phone } }) => h.removeKey(phone),
}

for (const [what, block] of Object.entries(BLOCKS)) {
  test(`an approval gives no token if ${what} before the token request`, async (t) => {
    const h = await cibaHarness(t)
    const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
    await h.approve()
    assert.ok((await block(h)).status < 300)
    for (let poll = 0; poll < 2; poll++) {
      await assert.rejects(h.poll(auth_req_id), { error: 'access_denied' })
      h.pause()
    }
  })

  test(`an approval gives no token if ${what} after a token request that failed`, async (t) => {
    const h = await cibaHarness(t)
    const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
    await h.approve()
    // The provider has stored that the user approved, and then found no proof of a key.
    const bare = client.genericGrantRequest(h.openid, GRANT, { auth_req_id })
    await assert.rejects(bare, { error: 'invalid_grant' })
    assert.ok((await block(h)).status < 300)
    h.pause()
    await assert.rejects(h.poll(auth_req_id), { error: 'access_denied' })
  })
}
