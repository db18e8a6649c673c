import type {
  McpServer,
  RegisteredTool,
  ToolCallback,
} from '@modelcontextprotocol/sdk/server/mcp.js'
import type { ShapeOutput, ZodRawShapeCompat } from '@modelcontextprotocol/sdk/server/zod-compat.js'
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod/v4'
import type { ApprovalRequest } from '../approval/approval-row.ts'
import type { Approvals } from '../approval/approvals.ts'
import { ApprovalError, NotStarted } from '../approval/errors.ts'
import { GateError } from '../errors.ts'
import { requireOptions } from '../required.ts'

type Extra = Parameters<ToolCallback>[0]

/** A tool whose every call needs an approval. Its name is the action of its approvals. */
export interface ApprovedTool<Shape extends ZodRawShapeCompat> {
  readonly title?: string
  readonly description: string
  readonly annotations?: ToolAnnotations
  readonly outputSchema?: ZodRawShapeCompat
  /** Schemas of Zod 4. No member may be named `approval_id`. */
  readonly inputSchema: Shape
  /** Receives the approved arguments, frozen. See `execute` of the approvals. */
  readonly run: (
    approved: Readonly<ShapeOutput<Shape>>,
    execution: { readonly id: string },
  ) => Promise<CallToolResult>
}

/** Who asks, and whom. */
export type Caller = Pick<ApprovalRequest<object>, 'owner' | 'subjectRef' | 'requester'>

export interface WithApprovalOptions<Args extends object> {
  readonly approvals: Approvals<Args>
  /**
   * For stdio, the caller of your configuration. For HTTP, a function of the access token that the
   * SDK has verified. Arguments of a tool never name the caller.
   */
  readonly caller: Caller | ((auth: NonNullable<Extra['authInfo']>) => Caller | Promise<Caller>)
}

interface Known {
  readonly approvals: Pick<Approvals<object>, 'status'>
  readonly caller: WithApprovalOptions<object>['caller']
}

const APPROVAL_ID = 'approval_id'
const INSTRUCTIONS =
  'The user must approve this on the phone. The first call returns `approval_required` with approval_id and inbox_url. Show inbox_url to the user, and ask get_approval until the status is `approved`. Then repeat the call with the same arguments and approval_id.'
/** Below the minute that clients of the SDK wait for the answer to their call. */
const ELICITATION_MS = 30_000

/** The approvals that `get_approval` of a server knows. */
const known = new WeakMap<McpServer, Known[]>()

/**
 * Registers a tool that runs only what the user has approved, and `get_approval`.
 *
 * @example
 * withApproval(server, { description, inputSchema, run }, { approvals, caller })
 */
export function withApproval<Shape extends ZodRawShapeCompat>(
  server: McpServer,
  { run, ...tool }: ApprovedTool<Shape>,
  { approvals, caller }: WithApprovalOptions<ShapeOutput<Shape>>,
): RegisteredTool {
  requireOptions('withApproval', { server }, { server: ['registerTool'] })
  const kinds = { description: 'a text', inputSchema: 'an object', run: 'a function' } as const
  requireOptions('withApproval', { ...tool, run }, kinds)
  requireOptions(
    'withApproval',
    { approvals, caller },
    {
      approvals: ['execute', 'latest', 'request', 'status'],
      caller: 'an object',
    },
  )
  if (Object.hasOwn(tool.inputSchema, APPROVAL_ID))
    throw new GateError('invalid_configuration', `A tool must have no argument ${APPROVAL_ID}.`)
  const registered = server.registerTool<ZodRawShapeCompat, ZodRawShapeCompat>(
    approvals.action,
    {
      ...tool,
      description: `${tool.description}\n\n${INSTRUCTIONS}`,
      inputSchema: { ...tool.inputSchema, [APPROVAL_ID]: z.string().optional() },
    },
    ({ [APPROVAL_ID]: id, ...given }, extra) =>
      answered(server, async () => {
        const args = given as ShapeOutput<Shape>
        const from = await callerOf(caller, extra)
        if (id !== undefined)
          return approvals.execute({ id: id as string, owner: from.owner, args }, run)
        const opened = await openRequest(approvals, { ...from, args })
        const { status, inboxUrl } = opened
        if (status === 'waiting') await showInbox(server, opened, extra)
        const shown = status === 'waiting' ? 'approval_required' : status
        return answer({ status: shown, approval_id: opened.id, inbox_url: inboxUrl }, true)
      }),
  )
  registerGetApproval(server, { approvals, caller })
  return registered
}

function registerGetApproval(server: McpServer, options: Known): void {
  const list = known.get(server)
  if (list !== undefined) return void list.push(options)
  const all = [options]
  known.set(server, all)
  server.registerTool(
    'get_approval',
    {
      description: 'Returns the status of an approval. Runs nothing.',
      inputSchema: { [APPROVAL_ID]: z.string() },
      annotations: { readOnlyHint: true },
    },
    ({ approval_id: id }, extra) =>
      answered(server, async () => {
        for (const { approvals, caller } of all) {
          const { owner } = await callerOf(caller, extra)
          const status = await approvals.status({ id, owner }).catch(undefinedIfUnknown)
          if (status !== undefined) return answer({ status, approval_id: id })
        }
        return answer({ status: 'approval_unknown' }, true)
      }),
  )
}

function undefinedIfUnknown(error: unknown): undefined {
  if (!(error instanceof ApprovalError && error.code === 'approval_unknown')) throw error
}

/** A fixed caller would make one owner of all users of an HTTP server. */
async function callerOf(caller: Known['caller'], extra: Extra): Promise<Caller> {
  if (typeof caller === 'function') {
    if (extra.authInfo !== undefined) return caller(extra.authInfo)
    throw new GateError('unauthorized', 'The request has no verified access token.')
  }
  if (extra.requestInfo === undefined && extra.authInfo === undefined) return caller
  throw new GateError('invalid_configuration', 'Over HTTP, caller must be a function of the token.')
}

/**
 * The request of this owner with these arguments that waits or can be executed, or a new one. Each
 * key is the request before it, so that all processes find the same one. The service deletes a key
 * an hour after its request has ended, so the last one is read from the store.
 */
async function openRequest<Args extends object>(
  approvals: Approvals<Args>,
  request: ApprovalRequest<Args>,
) {
  const latest = await approvals.latest(request)
  if (latest !== undefined && OPEN.has(latest.status)) return latest
  for (let key = latest?.id ?? approvals.action; ; ) {
    const opened = await approvals.request({ ...request, key })
    const status = await approvals.status({ id: opened.id, owner: request.owner })
    if (OPEN.has(status)) return { ...opened, status }
    key = opened.id
  }
}

/** With an unknown outcome, a further request could run the action twice. */
const OPEN: ReadonlySet<string> = new Set(['waiting', 'approved', 'review', 'outcome_unknown'])

/** The client's answer says whether the page was opened. Only the phone approves. */
async function showInbox(
  { server }: McpServer,
  { id, inboxUrl }: { readonly id: string; readonly inboxUrl: string },
  { requestId, signal }: Extra,
): Promise<void> {
  if (server.getClientCapabilities()?.elicitation?.url === undefined) return
  const message = 'A request waits for your approval. Open the inbox on your phone.'
  await server
    .elicitInput(
      { mode: 'url', elicitationId: id, url: inboxUrl, message },
      { relatedRequestId: requestId, signal, timeout: ELICITATION_MS },
    )
    .catch(() => {})
}

/** The agent gets the library's own errors. The details of all others are for your log. */
async function answered(
  { server }: McpServer,
  work: () => Promise<CallToolResult>,
): Promise<CallToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApprovalError)
      return answer({ status: error.code, message: error.message, reasons: error.reasons }, true)
    if (error instanceof NotStarted)
      return answer({ status: 'not_started', message: error.message }, true)
    server.onerror?.(error as Error)
    if (!(error instanceof GateError)) return answer({ status: 'internal_error' }, true)
    const { code, reason = code, retryAfterMs: retry_after_ms } = error
    return answer({ status: reason, retry_after_ms }, true)
  }
}

/** An error, for the agent, is every call that did not run. */
function answer(members: object, isError = false): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(members) }], isError }
}
