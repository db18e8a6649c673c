import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer, requireBearerAuth } from '@modelcontextprotocol/server'
import * as z from 'zod/v4'
import { withApproval } from '../../src/mcp/mcp2.ts'
import { ARGS } from '../approval/harness.ts'
import { type Answer, CALLERS, twoTools } from './harness.ts'
import { MODERN } from './transports.ts'

const EXPIRES_AT = 4_102_444_800

test('the MCP tool of the README runs, and a token that is not verified reaches no tool', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const code = [...readme.matchAll(/```ts\n([^`]+)```/g)]
    .map(([, each = '']) => each)
    .find((each) => each.includes('withApproval'))
  assert.ok(code)
  const { transfer: approvals, service } = twoTools()
  const given = {
    withApproval,
    createMcpHandler,
    McpServer,
    requireBearerAuth,
    z,
    approvals,
    verifier: {
      async verifyAccessToken(token: string) {
        if (token !== 'of-anna') throw new Error('not a token of this issuer')
        return { token, clientId: 'anna', scopes: [], expiresAt: EXPIRES_AT }
      },
    },
    userOf: (client: string) => CALLERS[client],
    transfer: async (args: object, id: string) => JSON.stringify({ status: 'sent', args, id }),
  }
  const names = Object.keys(given).join(', ')
  const body = stripTypeScriptTypes(code.replaceAll(/^import .*$/gm, ''))
  const source = `export default ({ ${names} }) => { ${body}; return serve }`
  const program = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (names: typeof given) => (request: Request) => Promise<Response>
  }
  const serve = program.default(given)
  const transport = (token: string) =>
    new StreamableHTTPClientTransport(new URL('http://bank.test/mcp'), {
      fetch: async (input, init) => serve(new Request(input, init)),
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    })
  const agent = new Client({ name: 'agent', version: '1.0.0' }, MODERN)
  await agent.connect(transport('of-anna'))
  const call = async (more: object = {}) => {
    const { content } = await agent.callTool({ name: 'transfer', arguments: { ...ARGS, ...more } })
    const [first] = content as readonly { readonly text: string }[]
    return JSON.parse(first?.text ?? '') as Answer
  }
  const { status, approval_id = '' } = await call()
  assert.equal(status, 'approval_required')
  assert.equal(service.session(approval_id)?.subject_ref, CALLERS['anna']?.subjectRef)
  service.bond(approval_id)
  assert.deepEqual(await call({ approval_id }), { status: 'sent', args: ARGS, id: approval_id })
  await agent.close()
  const stranger = new Client({ name: 'agent', version: '1.0.0' }, MODERN)
  await assert.rejects(stranger.connect(transport('of-bert')))
  assert.deepEqual(service.ids(), [approval_id])
})
