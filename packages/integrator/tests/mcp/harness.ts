import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { type ElicitRequest, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod/v4'
import {
  type Approvals,
  createApprovals,
  memoryApprovalStore,
} from '../../src/approval/approval.ts'
import { type Caller, stdio, withApproval } from '../../src/mcp/mcp.ts'
import { ACTION, AGENT, type Transfer } from '../approval/harness.ts'
import { BASE_URL, fakeService, SERVER_CREDENTIAL } from '../fake-service.ts'

/** By access token. */
export const CALLERS: Readonly<Record<string, Caller>> = {
  anna: { owner: 'anna', subjectRef: 'a'.repeat(43), requester: AGENT },
  bert: { owner: 'bert', subjectRef: 'b'.repeat(43), requester: AGENT },
}

/** One user, for whom a server over stdio was started. */
export const ANNA = stdio(CALLERS['anna'] as Caller)

/** The approvals of two tools, in one store, and the fake service that they ask. */
export function twoTools() {
  const service = fakeService(Date.now)
  const store = memoryApprovalStore()
  const approvalsOf = (action: string) =>
    createApprovals<Transfer>({
      service: { baseUrl: BASE_URL, serverCredential: SERVER_CREDENTIAL, fetch: service.fetch },
      store,
      ...ACTION,
      action,
    })
  return { service, store, transfer: approvalsOf('transfer'), refund: approvalsOf('refund') }
}

export type Run = (approved: Readonly<Transfer>) => Promise<void>
export type CallerOption = Parameters<typeof withApproval>[2]['caller']

/** A tool that calls `run`, of a server of either generation. */
export const transferTool = (run: Run) => ({
  description: 'Moves money.',
  inputSchema: { to: z.string(), cents: z.int() },
  async run(approved: Readonly<Transfer>) {
    await run(approved)
    return { content: [{ type: 'text' as const, text: JSON.stringify({ status: 'sent' }) }] }
  },
})

/** A server with these tools, which call `run`. */
export function serverOf(
  approvals: readonly Approvals<Transfer>[],
  caller: CallerOption,
  run: Run,
): McpServer {
  const server = new McpServer({ name: 'bank', version: '1.0.0' })
  for (const each of approvals) withApproval(server, transferTool(run), { approvals: each, caller })
  return server
}

/** Serves MCP over HTTP, one server a session, to those that have a token. */
export async function serveHttp(open: () => McpServer) {
  const sessions = new Map<unknown, StreamableHTTPServerTransport>()
  const http = createServer((request, response) => {
    const token = /^Bearer (\w+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (!Object.hasOwn(CALLERS, token)) return void response.writeHead(401).end()
    const auth = { token, clientId: 'agent', scopes: [], extra: { login: token } }
    const handle = async () => {
      let transport = sessions.get(request.headers['mcp-session-id'])
      if (transport === undefined) {
        const created = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => void sessions.set(id, created),
        })
        transport = created
        await open().connect(created)
      }
      await transport.handleRequest(Object.assign(request, { auth }), response)
    }
    handle().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
  return {
    url,
    async [Symbol.asyncDispose]() {
      for (const transport of sessions.values()) await transport.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

export type Elicited = ElicitRequest['params']
interface ClientOptions {
  /** Answers URL elicitations, which the client declares then. */
  readonly onUrl?: (params: Elicited) => 'accept' | 'decline' | Promise<'accept' | 'decline'>
  /** The revision of the protocol that the client asks for. */
  readonly revision?: string
}

/** A client of the SDK, and the answers of its calls. */
export async function connectClient(transport: Transport, { onUrl, revision }: ClientOptions = {}) {
  const client = new Client(
    { name: 'agent', version: '1.0.0' },
    { capabilities: onUrl === undefined ? {} : { elicitation: { url: {} } } },
  )
  if (onUrl !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
      action: await onUrl(params),
    }))
  if (revision !== undefined) {
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => {
      if ('method' in message && message.method === 'initialize')
        Object.assign(message.params ?? {}, { protocolVersion: revision })
      return send(message, options)
    }
  }
  await client.connect(transport)
  return {
    client,
    async call(name: string, args: Readonly<Record<string, unknown>>) {
      const { content } = await client.callTool({ name, arguments: args })
      const [first] = content as readonly { readonly text: string }[]
      assert.ok(first)
      return JSON.parse(first.text) as Answer
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

export interface Answer {
  readonly status: string
  readonly approval_id?: string
  readonly inbox_url?: string
  readonly reasons?: readonly string[]
  readonly message?: string
}

export function httpTransport(url: URL, token: string, sessionId?: string): Transport {
  return new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    ...(sessionId !== undefined && { sessionId }),
  })
}
