import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import * as z from 'zod/v4'
import { withApproval } from '../../src/mcp/mcp.ts'
import { ARGS } from '../approval/harness.ts'
import { CALLERS, connectClient, httpTransport, serveHttp, twoTools } from './harness.ts'

test('the MCP tool of the README runs', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const code = [...readme.matchAll(/```ts\n([^`]+)```/g)]
    .map(([, each = '']) => each)
    .find((each) => each.includes('withApproval'))
  assert.ok(code)
  const { transfer: approvals, service } = twoTools()
  const given = {
    withApproval,
    z,
    approvals,
    userOf: () => CALLERS['anna'],
    transfer: async (args: object, id: string) => JSON.stringify({ status: 'sent', args, id }),
  }
  const names = ['server', ...Object.keys(given)].join(', ')
  const source = `export default ({ ${names} }) => { ${code.replaceAll(/^import .*$/gm, '')} }`
  const program = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (names: typeof given & { readonly server: McpServer }) => void
  }
  await using http = await serveHttp(() => {
    const server = new McpServer({ name: 'bank', version: '1.0.0' })
    program.default({ ...given, server })
    return server
  })
  await using agent = await connectClient(httpTransport(http.url, 'anna'))
  const { status, approval_id = '' } = await agent.call('transfer', { ...ARGS })
  assert.equal(status, 'approval_required')
  service.bond(approval_id)
  const sent = await agent.call('transfer', { ...ARGS, approval_id })
  assert.deepEqual(sent, { status: 'sent', args: ARGS, id: approval_id })
})
