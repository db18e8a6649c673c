import type {
  McpServer,
  RegisteredTool,
  ToolCallback,
} from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
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

type Extra = Parameters<ToolCallback>[0]
type Auth = NonNullable<Extra['authInfo']>

/**
 * Registers a tool that runs only what the user has approved, and `get_approval`, with a server of
 * `@modelcontextprotocol/sdk`, version 1.
 *
 * @example
 * withApproval(server, { description, inputSchema, run }, { approvals, caller })
 */
export function withApproval<Shape extends z.ZodRawShape>(
  server: McpServer,
  tool: ApprovedTool<Shape, CallToolResult>,
  options: WithApprovalOptions<z.output<z.ZodObject<Shape>>, Auth>,
): RegisteredTool {
  return registerApproved<Shape, CallToolResult, Auth, RegisteredTool>(
    {
      server,
      register: (name, config, handle) =>
        server.registerTool(name, config, (args: Record<string, unknown>, extra: Extra) =>
          handle(args, () => callOf(server, extra)),
        ),
      onError: (error) => server.server.onerror?.(error),
    },
    tool,
    options,
  )
}

function callOf(server: McpServer, extra: Extra): Call<CallToolResult, Auth> {
  // In the context of another version, a member that this one looks for could be missing.
  if (typeof extra.sendRequest !== 'function')
    throw misconfigured('The server is not of @modelcontextprotocol/sdk 1. Use the other module.')
  const { authInfo, requestInfo, sessionId, closeSSEStream } = extra
  return {
    auth: authInfo,
    isHttp: [authInfo, requestInfo, sessionId, closeSSEStream].some((each) => each !== undefined),
    showInbox: (inbox) => showInbox(server, inbox, extra),
  }
}

/** The client's answer says whether the page was opened. Only the phone approves. */
async function showInbox(
  { server }: McpServer,
  { id, inboxUrl }: Inbox,
  { requestId, signal }: Extra,
): Promise<undefined> {
  if (server.getClientCapabilities()?.elicitation?.url === undefined) return
  await server
    .elicitInput(
      { mode: 'url', elicitationId: id, url: inboxUrl, message: ELICITATION_MESSAGE },
      { relatedRequestId: requestId, signal, timeout: ELICITATION_MS },
    )
    .catch((error: unknown) => server.onerror?.(error as Error))
}
