import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ARGS } from '../approval/harness.ts'
import { connectClient } from './harness.ts'

// URL elicitation is of the newest revision.
for (const revision of ['2025-11-25', '2025-06-18'])
  test(`a tool runs once, after the approval, over stdio in revision ${revision}`, async () => {
    const elicited: unknown[] = []
    const server = fileURLToPath(new URL('./stdio-server.ts', import.meta.url))
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...process.execArgv.filter((name) => !name.startsWith('--test')), server],
    })
    const onUrl = (params: unknown) => (elicited.push(params), 'accept' as const)
    await using agent = await connectClient(transport, {
      revision,
      ...(revision === '2025-11-25' && { onUrl }),
    })
    const { status, approval_id = '' } = await agent.call('transfer', { ...ARGS })
    assert.equal(status, 'approval_required')
    assert.equal(elicited.length, revision === '2025-11-25' ? 1 : 0)
    const early = await agent.call('transfer', { ...ARGS, approval_id })
    assert.equal(early.status, 'not_approved')
    await agent.call('approve_on_phone', { id: approval_id })
    assert.equal((await agent.call('get_approval', { approval_id })).status, 'approved')
    assert.equal((await agent.call('transfer', { ...ARGS, approval_id })).status, 'sent')
    const again = await agent.call('transfer', { ...ARGS, approval_id })
    assert.equal(again.status, 'already_executed')
    assert.equal((await agent.call('count_runs', {})).status, '1')
  })
