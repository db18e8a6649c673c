import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ApprovalRef,
  createApprovals,
  memoryApprovalStore,
} from '../../../integrator/src/approval/approval.ts'
import type { FetchLike } from '../../../integrator/src/service/call.ts'
import { inboxHarness } from '../../../../tests/harness/inbox.ts'
import { PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'

const ARGS = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
const OWNER = 'agent-1'

/** The library of a backend, on the service itself, and the phone of a user. */
async function approvalHarness(store = memoryApprovalStore()) {
  const parts = await inboxHarness()
  const { h, phone, subjectRef } = parts
  const fetch: FetchLike = async (url, { method, headers, body }) => {
    const answer = await h.api(method, url.split('/api/v1')[1] ?? '', {
      headers,
      ...(body !== undefined && { body: JSON.parse(body) }),
    })
    return {
      status: answer.status,
      headers: { get: (name) => String(answer.headers[name.toLowerCase()] ?? '') || null },
      text: async () => answer.text,
    }
  }
  const approvals = createApprovals<typeof ARGS>({
    service: { baseUrl: PUBLIC_ORIGIN, serverCredential: h.shop.server, fetch },
    store,
    workflow: 'agent',
    action: 'act',
    version: '1',
    describe: ({ to, cents }) => [
      { label: 'Amount', value: `€${cents / 100}` },
      { label: 'To', value: to },
    ],
  })
  const request = () =>
    approvals.request({
      owner: OWNER,
      subjectRef,
      requester: { kind: 'agent', name: 'Invoice agent' },
      args: ARGS,
    })
  /** The user opens the inbox, reads the request, and approves it. */
  async function approve(id: string) {
    const { items } = (await parts.open()).body as {
      items: { session_id: string; nonce: string }[]
    }
    const item = items.find(({ session_id }) => session_id === id)
    assert.ok(item)
    const listed = { id, nonce: item.nonce }
    assert.equal((await h.claim(phone, listed)).status, 200)
    const view = await h.view(phone, listed)
    assert.equal((await h.attest(phone, view)).status, 200)
    return view.context
  }
  return { ...parts, approvals, request, approve }
}

test('an agent asks, the user reads the whole text and approves, and the action runs once', async () => {
  await using parts = await approvalHarness()
  const { approvals, request, approve, h } = parts
  const { id, inboxUrl } = await request()
  assert.equal(inboxUrl, `${PUBLIC_ORIGIN}/inbox`)
  const context = await approve(id)
  assert.equal(context?.text, `{\n  "cents": 125000,\n  "to": "${ARGS.to}"\n}`)
  assert.equal(context?.requester?.name, 'Invoice agent')
  const ref: ApprovalRef = { id, owner: OWNER }
  assert.equal(await approvals.wait(ref), 'approved')
  const changed = approvals.execute({ ...ref, args: { ...ARGS, cents: 1 } }, async () => 'sent')
  await assert.rejects(changed, { code: 'not_approved', reasons: ['context_mismatch'] })
  assert.equal(await approvals.execute({ ...ref, args: ARGS }, async () => 'sent'), 'sent')
  assert.equal((await h.get({ id })).body.state, 'completed')
  const again = approvals.execute({ ...ref, args: ARGS }, async () => 'sent')
  await assert.rejects(again, { code: 'already_executed' })
})

test('a user who declines lets nothing run', async () => {
  await using parts = await approvalHarness()
  const { approvals, request, open, h, phone } = parts
  const { id } = await request()
  const { items } = (await open()).body as { items: { nonce: string }[] }
  await h.decline(phone, { id, nonce: items[0]?.nonce ?? '' })
  assert.equal(await approvals.wait({ id, owner: OWNER }), 'declined')
  const run = approvals.execute({ id, owner: OWNER, args: ARGS }, async () => 'sent')
  await assert.rejects(run, { code: 'not_approved', reasons: ['session_not_bonded'] })
})

test('a request that could not be stored waits on no phone', async () => {
  const full = { ...memoryApprovalStore(), put: () => Promise.reject(new Error('disk full')) }
  await using parts = await approvalHarness(full)
  await assert.rejects(parts.request(), /disk full/)
  assert.deepEqual(((await parts.open()).body as { items: unknown[] }).items, [])
})
