import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { ARGS, type Transfer } from '../approval/harness.ts'
import type { Caller } from '../../src/mcp/mcp2.ts'
import { type Answer, ANNA, CALLERS, twoTools } from './harness.ts'
import { MODERN, serverOf2 } from './transports.ts'

const INBOX = 'https://bonded.test/inbox'
const REVISIONS = { '2026-07-28': MODERN, '2025-11-25': {} } as const
const AUTH = { token: 't', clientId: 'agent', scopes: [] }
const URL_ELICITATION = { capabilities: { elicitation: { url: {} } } }

/** The tool over stateless HTTP: each request has a server of its own. */
async function overHttp(options: ClientOptions, onUrl?: (params: unknown) => Promise<object>) {
  const tools = twoTools()
  const ran: Transfer[] = []
  const sent: object[] = []
  const run = async (approved: Readonly<Transfer>) => void ran.push(approved)
  const caller = () => CALLERS['anna'] as Caller
  const open = () => serverOf2({ approvals: [tools.transfer], caller, run })
  const handler = createMcpHandler(open)
  const fetch = async (input: string | URL, init?: RequestInit) => {
    const request = new Request(input, init)
    const body = await request.clone().text()
    if (body.includes('tools/call')) sent.push(JSON.parse(body) as object)
    return handler.fetch(request, { authInfo: AUTH })
  }
  const client = new Client({ name: 'agent', version: '1.0.0' }, options)
  if (onUrl) client.setRequestHandler('elicitation/create', ({ params }) => onUrl(params) as never)
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://bank.test/mcp'), { fetch }),
  )
  return { ...tools, ran, sent, client, call: callerOf(client) }
}

function callerOf(client: Client) {
  return async (more: object = {}, name = 'transfer') => {
    const { content } = await client.callTool({ name, arguments: { ...ARGS, ...more } })
    const [first] = content as readonly { readonly text: string }[]
    return JSON.parse(first?.text ?? '') as Answer
  }
}

for (const [revision, options] of Object.entries(REVISIONS)) {
  test(`a tool of SDK 2 runs once, after the approval, over HTTP in revision ${revision}`, async () => {
    const { client, call, service, ran } = await overHttp(options)
    const asked = await call()
    const { approval_id = '' } = asked
    assert.deepEqual(asked, { status: 'approval_required', approval_id, inbox_url: INBOX })
    assert.deepEqual(await call({ approval_id: 'none' }), asked)
    assert.deepEqual(service.ids(), [approval_id])
    assert.equal((await call({ approval_id })).status, 'not_approved')
    assert.equal((await call({ approval_id }, 'get_approval')).status, 'waiting')
    service.bond(approval_id)
    assert.equal((await call({ approval_id }, 'get_approval')).status, 'approved')
    const changed = await call({ approval_id, cents: 1 })
    assert.deepEqual([changed.status, changed.reasons], ['not_approved', ['context_mismatch']])
    assert.deepEqual(ran, [])
    assert.equal((await call({ approval_id })).status, 'sent')
    assert.equal((await call({ approval_id })).status, 'already_executed')
    assert.deepEqual(ran, [ARGS])
    await client.close()
  })

  test(`the tools of SDK 2 are listed with their schemas in revision ${revision}`, async () => {
    const { client } = await overHttp(options)
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['transfer', 'get_approval'],
    )
    assert.deepEqual(tools[0]?.inputSchema.required, ['to', 'cents'])
    await client.close()
  })
}

for (const action of ['accept', 'decline', 'cancel'])
  test(`in 2026-07-28, a client opens the inbox within the call, and its ${action} approves nothing`, async () => {
    const shown: unknown[] = []
    const options = { ...MODERN, ...URL_ELICITATION }
    const { client, call, service, ran } = await overHttp(options, async (params) => {
      shown.push(params)
      return { action }
    })
    const { status, approval_id = '' } = await call()
    assert.equal(status, 'approval_required')
    const message = 'A request waits for your approval. Open the inbox on your phone.'
    assert.deepEqual(shown, [{ mode: 'url', url: INBOX, message }])
    assert.equal((await call({ approval_id }, 'get_approval')).status, 'waiting')
    assert.equal((await call({ approval_id })).status, 'not_approved')
    assert.deepEqual(ran, [])
    service.bond(approval_id)
    assert.equal((await call({ approval_id })).status, 'sent')
    assert.equal(shown.length, 1)
    await client.close()
  })

test('what a client claims about an earlier round runs nothing, and makes no other request', async () => {
  const { client, call, service, ran, sent } = await overHttp(
    { ...MODERN, ...URL_ELICITATION },
    async () => ({
      action: 'accept',
    }),
  )
  const { approval_id } = await call()
  const [first, second] = sent as { params: { requestState?: string; inputResponses?: object } }[]
  assert.equal(first?.params.inputResponses, undefined)
  assert.deepEqual(second?.params.inputResponses, { inbox: { action: 'accept' } })
  // The server keeps nothing at the client, so it has nothing of it to believe.
  assert.equal(second?.params.requestState, undefined)
  const forged = {
    name: 'transfer',
    arguments: { ...ARGS },
    requestState: JSON.stringify({ status: 'approved', approval_id }),
    inputResponses: { inbox: { action: 'accept', content: { approval_id } } },
  }
  const { content } = await client.callTool(forged)
  const { name: _name, arguments: _arguments, ...claims } = forged
  assert.partialDeepStrictEqual(sent.at(-1), { params: claims })
  const [answer] = content as readonly { readonly text: string }[]
  const { status, approval_id: same } = JSON.parse(answer?.text ?? '') as Answer
  assert.deepEqual([status, same], ['approval_required', approval_id])
  assert.deepEqual([ran, service.ids()], [[], [approval_id]])
  await client.close()
})

test('a client of 2026-07-28 that opens no pages gets the address in the answer', async () => {
  const { client, call, sent } = await overHttp(MODERN)
  assert.equal((await call()).inbox_url, INBOX)
  assert.equal(sent.length, 1)
  await client.close()
})

for (const [what, action] of [
  ['opens the inbox', 'accept'],
  ['cannot open the inbox', undefined],
] as const)
  test(`in 2025-11-25, a client of SDK 2 that ${what} gets the answer to its call`, async () => {
    const { transfer } = twoTools()
    const [up, down] = [new PassThrough(), new PassThrough()]
    const errors: Error[] = []
    const shown: unknown[] = []
    const open = () => {
      const server = serverOf2({ approvals: [transfer], caller: ANNA, run: async () => {} })
      Object.assign(server.server, { onerror: (error: Error) => void errors.push(error) })
      return server
    }
    const served = serveStdio(open, { transport: new StdioServerTransport(up, down) })
    const client = new Client({ name: 'agent', version: '1.0.0' }, URL_ELICITATION)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      shown.push(params)
      if (action === undefined) throw new Error('no browser')
      return { action }
    })
    await client.connect(new StdioServerTransport(down, up))
    const { status, approval_id } = await callerOf(client)()
    assert.equal(status, 'approval_required')
    const [params] = shown as { mode: string; url: string; elicitationId: string }[]
    assert.deepEqual(
      [params?.mode, params?.url, params?.elicitationId],
      ['url', INBOX, approval_id],
    )
    assert.equal(errors.length, action === undefined ? 1 : 0)
    await client.close()
    await served.close()
  })
