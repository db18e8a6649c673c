import assert from 'node:assert/strict'
import { test } from 'node:test'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as McpServer2 } from '@modelcontextprotocol/server'
import * as z from 'zod/v4'
import { stdio, type Caller, withApproval } from '../../src/mcp/mcp.ts'
import { stdio as stdio2, withApproval as withApproval2 } from '../../src/mcp/mcp2.ts'
import { ARGS } from '../approval/harness.ts'
import { strangeSessionId } from '../fake-service.ts'
import { type Answer, ANNA, type CallerOption, CALLERS, twoTools } from './harness.ts'
import { type AnyClient, type Token, TRANSPORTS } from './transports.ts'

const TOKEN: Token = { token: 't', clientId: 'agent', scopes: [], extra: { login: 'bert' } }
const byToken: CallerOption = ({ extra }) => CALLERS[extra?.['login'] as string] as Caller

/** The status of a call of each tool, and whom the service has been asked about. */
async function statuses(name: string, caller: CallerOption, auth?: Token) {
  const { transfer, service } = twoTools()
  const transport = TRANSPORTS[name]
  assert.ok(transport)
  const run = () => assert.fail('it runs')
  const { client, close } = await transport.connect({ approvals: [transfer], caller, run, auth })
  try {
    const called = [
      await statusOf(client, 'transfer', { ...ARGS }),
      await statusOf(client, 'get_approval', { approval_id: strangeSessionId() }),
    ]
    return { called, asked: service.ids().map((id) => service.session(id)?.subject_ref) }
  } finally {
    await client.close()
    await close?.()
  }
}

async function statusOf(client: AnyClient, name: string, args: Record<string, unknown>) {
  const { content } = (await client.callTool({ name, arguments: args })) as {
    content: readonly { readonly text: string }[]
  }
  return (JSON.parse(content[0]?.text ?? '') as Answer).status
}

const REFUSED = { called: ['invalid_configuration', 'invalid_configuration'], asked: [] }
const UNKNOWN = { called: ['unauthorized', 'unauthorized'], asked: [] }
const askedFor = (user: string) => ({
  called: ['approval_required', 'approval_unknown'],
  asked: [CALLERS[user]?.subjectRef],
})

for (const [name, { kind }] of Object.entries(TRANSPORTS)) {
  test(`${name}: without a token, a caller by token is refused`, async () => {
    assert.deepEqual(await statuses(name, byToken), UNKNOWN)
  })

  if (kind === 'http')
    test(`${name}: a caller that is declared for stdio is refused, with a token and without`, async () => {
      assert.deepEqual(await statuses(name, ANNA), REFUSED)
      assert.deepEqual(await statuses(name, ANNA, TOKEN), REFUSED)
    })
  else
    test(`${name}: a caller that is declared for stdio asks its user`, async () => {
      assert.deepEqual(await statuses(name, ANNA), askedFor('anna'))
    })

  if (kind !== 'stdio')
    test(`${name}: with a token, its user is asked, and no declared one`, async () => {
      assert.deepEqual(await statuses(name, byToken, TOKEN), askedFor('bert'))
      assert.deepEqual(await statuses(name, ANNA, TOKEN), REFUSED)
    })
}

const REGISTRATIONS = {
  'SDK 1': (tool: object, caller: unknown) =>
    withApproval(new McpServer({ name: 'bank', version: '1' }), tool as never, {
      approvals: twoTools().transfer as never,
      caller: caller as never,
    }),
  'SDK 2': (tool: object, caller: unknown) =>
    withApproval2(new McpServer2({ name: 'bank', version: '2' }), tool as never, {
      approvals: twoTools().transfer as never,
      caller: caller as never,
    }),
}
const TOOL = { description: 'Moves money.', inputSchema: {}, run: async () => ({ content: [] }) }
const dated = (at: z.ZodType) => ({ ...TOOL, inputSchema: { at: z.object({ at }) } })

for (const [generation, register] of Object.entries(REGISTRATIONS)) {
  for (const [what, caller] of [
    ['an object', CALLERS['anna']],
    ['an object that looks like a declaration', { caller: CALLERS['anna'], stdio: true }],
    ['an object of the prototype of a declaration', Object.create(Object.getPrototypeOf(ANNA))],
    ['none', undefined],
  ] as const)
    test(`${generation}: ${what} as caller does not ask a user`, () => {
      assert.throws(() => register(TOOL, caller), { code: 'invalid_configuration' })
    })

  for (const [what, tool, message] of [
    [
      'an argument approval_id',
      { ...TOOL, inputSchema: { approval_id: z.string() } },
      /approval_id/,
    ],
    ['an outputSchema', { ...TOOL, outputSchema: {} }, /outputSchema/],
    ['z.coerce.date()', dated(z.coerce.date()), /argument at of a tool is a date/],
    ['a date that is parsed', dated(z.iso.datetime().pipe(z.coerce.date())), /is a date/],
    ['z.bigint()', dated(z.bigint()), /is a bigint/],
    ['a map in an array', dated(z.array(z.map(z.string(), z.int()))), /is a map/],
  ] as const)
    test(`${generation}: a tool with ${what} is refused at its registration`, () => {
      assert.throws(() => register(tool, ANNA), { code: 'invalid_configuration', message })
    })

  test(`${generation}: a tool with a default, a union, and a text that is trimmed is registered`, () => {
    const inputSchema = {
      to: z.string().trim().default('ACME'),
      cents: z.union([z.int(), z.string().transform(Number)]),
    }
    assert.doesNotThrow(() => register({ ...TOOL, inputSchema }, ANNA))
  })
}

test('a declaration names a whole caller', () => {
  assert.equal(stdio, stdio2)
  const { owner, requester } = CALLERS['anna'] as Caller
  assert.throws(() => stdio({ owner, requester } as Caller), { code: 'invalid_configuration' })
})

// In the context of the other one, the members that say "HTTP" have other names.
test('a module refuses calls of the other generation', async () => {
  const { transfer, service } = twoTools()
  const handlers: ((args: object, context: object) => Promise<unknown>)[] = []
  const server = {
    server: {},
    registerTool: (_name: string, _config: object, handler: (typeof handlers)[number]) =>
      void handlers.push(handler),
  }
  const tool = { ...TOOL, inputSchema: { to: z.string(), cents: z.int() } }
  withApproval(server as never, tool, { approvals: transfer, caller: ANNA })
  withApproval2(server as never, tool, { approvals: transfer, caller: ANNA })
  const of1 = { requestId: 1, signal: AbortSignal.any([]), sendRequest: async () => ({}) }
  const of2 = { mcpReq: { id: 1, send: async () => ({}) } }
  const [handler1, , handler2] = handlers
  for (const answer of [await handler1?.(ARGS, of2), await handler2?.(ARGS, of1)])
    assert.match(JSON.stringify(answer), /invalid_configuration/)
  assert.deepEqual(service.ids(), [])
})
