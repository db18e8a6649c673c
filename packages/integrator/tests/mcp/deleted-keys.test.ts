import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { createApprovals, memoryApprovalStore } from '../../src/approval/approval.ts'
import { ACTION, AGENT, type Transfer } from '../approval/harness.ts'
import { connectClient, serverOf } from './harness.ts'
import { stdio } from '../../src/mcp/mcp.ts'
import { inboxHarness } from '../../../../tests/harness/inbox.ts'

const ARGS: Transfer = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
const HOUR_MS = 60 * 60_000

/** A tool of an MCP server, on the service itself, whose action throws. */
async function toolHarness() {
  const parts = await inboxHarness()
  const { h, phone, open, subjectRef } = parts
  const store = memoryApprovalStore()
  const approvals = createApprovals<Transfer>({
    service: {
      baseUrl: `http://127.0.0.1:${h.running.port}`,
      serverCredential: h.shop.server,
    },
    store,
    ...ACTION,
    workflow: 'day',
    action: 'act',
  })
  const caller = stdio({ owner: 'anna', subjectRef, requester: AGENT })
  const server = serverOf([approvals], caller, () =>
    Promise.reject(new Error('the bank timed out')),
  )
  const [of, to] = InMemoryTransport.createLinkedPair()
  await server.connect(of)
  const client = await connectClient(to)
  const waiting = async () => {
    const { items } = (await open()).body as { items: { session_id: string; nonce: string }[] }
    return items.map(({ session_id: id, nonce }) => ({ id, nonce }))
  }
  const first = async () => {
    const [request] = await waiting()
    assert.ok(request)
    return request
  }
  return {
    store,
    waiting,
    call: (more: object = {}) => client.call('act', { ...ARGS, ...more }),
    advance: (ms: number) => h.clock.advance(ms),
    decline: async () => h.decline(phone, await first()),
    async approve() {
      const request = await first()
      await h.claim(phone, request)
      await h.attest(phone, await h.view(phone, request))
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      await parts[Symbol.asyncDispose]()
    },
  }
}

// The service deletes an Idempotency-Key an hour after its session has ended.
test('a request that waits is the one of a repeated call, hours after the one before it', async () => {
  await using tool = await toolHarness()
  await tool.call()
  await tool.decline()
  tool.advance(61_000)
  const second = await tool.call()
  tool.advance(2 * HOUR_MS)
  assert.equal((await tool.call()).approval_id, second.approval_id)
  assert.equal((await tool.waiting()).length, 1)
})

test('an unknown outcome makes no new request, however long ago it was', async () => {
  await using tool = await toolHarness()
  const { approval_id } = await tool.call()
  await tool.approve()
  assert.equal((await tool.call({ approval_id })).status, 'outcome_unknown')
  for (const hours of [0, 2, 48]) {
    tool.advance(hours * HOUR_MS)
    const again = await tool.call()
    assert.deepEqual([again.status, again.approval_id], ['outcome_unknown', approval_id])
  }
  assert.equal((await tool.store.unfinished()).length, 1)
})
