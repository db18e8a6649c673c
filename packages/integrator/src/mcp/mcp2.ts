import {
  type CallToolResult,
  type ClientCapabilities,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type InputRequiredResult,
  type McpServer,
  type RegisteredTool,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type * as z from 'zod/v4'
import {
  type ApprovedTool,
  type Call,
  ELICITATION_MESSAGE,
  ELICITATION_MS,
  type Inbox,
  misconfigured,
  registerApproved,
  type WithApprovalOptions,
} from './approved-tool.ts'

export { type ApprovedTool, type Caller, stdio } from './approved-tool.ts'

type Result = CallToolResult | InputRequiredResult
type Auth = NonNullable<NonNullable<ServerContext['http']>['authInfo']>
/** The SDK's own type has no members. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities }

/**
 * Registers a tool that runs only what the user has approved, and `get_approval`, with a server of
 * `@modelcontextprotocol/server`, version 2. The SDK passes on an access token that it has not
 * verified.
 *
 * @example
 * withApproval(server, { description, inputSchema, run }, { approvals, caller })
 */
export function withApproval<Shape extends z.ZodRawShape>(
  server: McpServer,
  tool: ApprovedTool<Shape, CallToolResult>,
  options: WithApprovalOptions<z.output<z.ZodObject<Shape>>, Auth>,
): RegisteredTool {
  return registerApproved<Shape, Result, Auth, RegisteredTool>(
    {
      server,
      register: (name, config, handle) =>
        server.registerTool(name, config, (args: Record<string, unknown>, context: ServerContext) =>
          handle(args, () => callOf(server, context)),
        ),
      onError: (error) => server.server.onerror?.(error),
    },
    tool,
    options,
  )
}

function callOf(server: McpServer, context: ServerContext): Call<Result, Auth> {
  const { http, mcpReq, sessionId } = context
  // In the context of another version, a member that this one looks for could be missing.
  if (typeof mcpReq?.send !== 'function')
    throw misconfigured(
      'The server is not of @modelcontextprotocol/server 2. Use the other module.',
    )
  return {
    auth: http?.authInfo,
    isHttp: http !== undefined || sessionId !== undefined,
    showInbox: (inbox) =>
      mcpReq.envelope === undefined
        ? elicitUrl(server, inbox, mcpReq)
        : requireInput(inbox, mcpReq),
  }
}

/**
 * Revision 2026-07-28: the client opens the page, and repeats the call by itself. Whether this is
 * the repeated call decides only what the client shows.
 */
async function requireInput(
  { inboxUrl }: Inbox,
  { envelope, inputResponses }: ServerContext['mcpReq'],
): Promise<InputRequiredResult | undefined> {
  if (inputResponses !== undefined) return
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = (envelope ?? {}) as Envelope
  if (capabilities?.elicitation?.url === undefined) return
  const inbox = inputRequired.elicitUrl({ url: inboxUrl, message: ELICITATION_MESSAGE })
  return inputRequired({ inputRequests: { inbox } })
}

/** Earlier revisions: the server asks within the call. Only the phone approves. */
async function elicitUrl(
  { server }: McpServer,
  { id, inboxUrl }: Inbox,
  { send, signal }: ServerContext['mcpReq'],
): Promise<undefined> {
  if (server.getClientCapabilities()?.elicitation?.url === undefined) return
  const params = {
    mode: 'url',
    elicitationId: id,
    url: inboxUrl,
    message: ELICITATION_MESSAGE,
  }
  await send({ method: 'elicitation/create', params }, { signal, timeout: ELICITATION_MS }).catch(
    (error: unknown) => server.onerror?.(error as Error),
  )
}
