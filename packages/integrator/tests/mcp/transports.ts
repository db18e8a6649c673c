import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import {
  Client as Client2,
  StreamableHTTPClientTransport as HttpClient2,
} from '@modelcontextprotocol/client'
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  createMcpHandler,
  InMemoryTransport as InMemoryTransport2,
  McpServer as McpServer2,
  WebStandardStreamableHTTPServerTransport as WebTransport2,
} from '@modelcontextprotocol/server'
import {
  serveStdio,
  StdioServerTransport as StdioTransport2,
} from '@modelcontextprotocol/server/stdio'
import type { Approvals } from '../../src/approval/approval.ts'
import { withApproval as withApproval2 } from '../../src/mcp/mcp2.ts'
import type { Transfer } from '../approval/harness.ts'
import { type CallerOption, type Run, serverOf, transferTool } from './harness.ts'
import { listen } from './listen.ts'

/** The revision of SDK 2, which a client of it asks for. */
export const MODERN = { versionNegotiation: { mode: { pin: '2026-07-28' } } }

export interface Token {
  readonly token: string
  readonly clientId: string
  readonly scopes: string[]
  readonly extra: { readonly login: string }
}

/** What a test needs of a client of either generation. */
export interface AnyClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>
  close(): Promise<void>
}

export interface Served {
  readonly approvals: readonly Approvals<Transfer>[]
  readonly caller: CallerOption
  readonly run: Run
  /** The token that the HTTP server has verified. */
  readonly auth?: Token | undefined
}

/** A server of SDK 2 with these tools, which call `run`. */
export function serverOf2({ approvals, caller, run }: Served): McpServer2 {
  const server = new McpServer2({ name: 'bank', version: '2.0.0' })
  for (const each of approvals)
    withApproval2(server, transferTool(run), { approvals: each, caller })
  return server
}

const NAMED = { name: 'agent', version: '1.0.0' }
const URL_OF_NONE = new URL('http://bank.test/mcp')
const open1 = ({ approvals, caller, run }: Served) => serverOf(approvals, caller, run)
const stateless = {}
const sessions = { sessionIdGenerator: () => randomUUID() }
type Disposable = { readonly client: AnyClient; readonly close?: () => Promise<void> }
type Connect = (served: Served) => Promise<Disposable>

async function connected1(transport: Transport): Promise<Client> {
  const client = new Client(NAMED)
  await client.connect(transport)
  return client
}

/** A fetch that one handler answers, as in a worker. */
function fetchOf(handle: (request: Request) => Promise<Response>) {
  return async (input: string | URL, init?: RequestInit) => handle(new Request(input, init))
}

/** Two ends of one pair of pipes. */
function pipes() {
  return [new PassThrough(), new PassThrough()] as const
}

const http1 =
  (options: { sessionIdGenerator?: () => string }): Connect =>
  async (served) => {
    let kept: StreamableHTTPServerTransport | undefined
    const http = await listen(async (request, response) => {
      const transport = kept ?? new StreamableHTTPServerTransport(options)
      if (transport !== kept) await open1(served).connect(transport)
      if (options.sessionIdGenerator !== undefined) kept = transport
      await transport.handleRequest(
        Object.assign(request, served.auth && { auth: served.auth }),
        response,
      )
    })
    return { client: await connected1(new StreamableHTTPClientTransport(http.url)), ...http }
  }

const sse1: Connect = async (served) => {
  let transport: SSEServerTransport | undefined
  const http = await listen(async (request, response) => {
    if (request.method === 'POST')
      return transport?.handlePostMessage(
        Object.assign(request, served.auth && { auth: served.auth }),
        response,
      )
    transport = new SSEServerTransport('/messages', response)
    await open1(served).connect(transport)
  })
  return { client: await connected1(new SSEClientTransport(http.url)), ...http }
}

const web1: Connect = async (served) => {
  const fetch = fetchOf(async (request) => {
    const transport = new WebStandardStreamableHTTPServerTransport(stateless)
    await open1(served).connect(transport)
    return transport.handleRequest(request, { authInfo: served.auth as never })
  })
  return { client: await connected1(new StreamableHTTPClientTransport(URL_OF_NONE, { fetch })) }
}

const stdio1: Connect = async (served) => {
  const [up, down] = pipes()
  await open1(served).connect(new StdioServerTransport(up, down))
  return { client: await connected1(new StdioServerTransport(down, up)) }
}

const memory1: Connect = async (served) => {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const { auth: authInfo } = served
  const send = ours.send.bind(ours)
  ours.send = (message, options) => send(message, { ...options, ...(authInfo && { authInfo }) })
  await open1(served).connect(theirs)
  return { client: await connected1(ours) }
}

async function connected2(
  transport: Parameters<Client2['connect']>[0],
  options: ConstructorParameters<typeof Client2>[1] = {},
): Promise<Client2> {
  const client = new Client2(NAMED, options)
  await client.connect(transport)
  return client
}

const handler2 =
  (options?: ConstructorParameters<typeof Client2>[1]): Connect =>
  async (served) => {
    const handler = createMcpHandler(() => serverOf2(served))
    const authInfo = served.auth && { authInfo: served.auth }
    const fetch = fetchOf((request) => handler.fetch(request, authInfo))
    const client = await connected2(new HttpClient2(URL_OF_NONE, { fetch }), options)
    return { client, close: () => handler.close() }
  }

const node2: Connect = async (served) => {
  const transport = new NodeStreamableHTTPServerTransport(sessions)
  await serverOf2(served).connect(transport)
  const http = await listen((request, response) =>
    transport.handleRequest(Object.assign(request, served.auth && { auth: served.auth }), response),
  )
  return { client: await connected2(new HttpClient2(http.url)), ...http }
}

const web2: Connect = async (served) => {
  const fetch = fetchOf(async (request) => {
    const transport = new WebTransport2({})
    await serverOf2(served).connect(transport)
    return transport.handleRequest(request, served.auth && { authInfo: served.auth })
  })
  return { client: await connected2(new HttpClient2(URL_OF_NONE, { fetch })) }
}

const stdio2 =
  (options?: ConstructorParameters<typeof Client2>[1]): Connect =>
  async (served) => {
    const [up, down] = pipes()
    const handle = serveStdio(() => serverOf2(served), { transport: new StdioTransport2(up, down) })
    const client = await connected2(new StdioTransport2(down, up), options)
    return { client, close: () => handle.close() }
  }

const memory2: Connect = async (served) => {
  const [ours, theirs] = InMemoryTransport2.createLinkedPair()
  const { auth: authInfo } = served
  const send = ours.send.bind(ours)
  ours.send = (message, options) => send(message, { ...options, ...(authInfo && { authInfo }) })
  await serverOf2(served).connect(theirs)
  return { client: await connected2(ours) }
}

/** Those of HTTP, of pipes, and of a program of one's own, of both generations. */
export const TRANSPORTS: Readonly<Record<string, { readonly kind: string; connect: Connect }>> = {
  'SDK 1, Streamable HTTP with sessions': { kind: 'http', connect: http1(sessions) },
  'SDK 1, stateless Streamable HTTP': { kind: 'http', connect: http1(stateless) },
  'SDK 1, fetch': { kind: 'http', connect: web1 },
  'SDK 1, SSE': { kind: 'http', connect: sse1 },
  'SDK 1, stdio': { kind: 'stdio', connect: stdio1 },
  'SDK 1, in memory': { kind: 'own', connect: memory1 },
  'SDK 2, stateless HTTP of 2026-07-28': { kind: 'http', connect: handler2(MODERN) },
  'SDK 2, stateless HTTP of 2025-11-25': { kind: 'http', connect: handler2() },
  'SDK 2, Streamable HTTP with sessions': { kind: 'http', connect: node2 },
  'SDK 2, fetch': { kind: 'http', connect: web2 },
  'SDK 2, stdio of 2026-07-28': { kind: 'stdio', connect: stdio2(MODERN) },
  'SDK 2, stdio of 2025-11-25': { kind: 'stdio', connect: stdio2() },
  'SDK 2, in memory': { kind: 'own', connect: memory2 },
}
