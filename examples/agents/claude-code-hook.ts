import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { createApprovals, sqliteApprovalStore } from '@bonded/integrator/approval'

/** What Claude Code writes to a `PreToolUse` hook, of which this one uses: */
interface HookInput {
  readonly session_id: string
  readonly cwd: string
  readonly tool_name: string
  readonly tool_input: object
}

/** Resolves to `approved` if the user approves this call of a tool. */
async function ask({ session_id: owner, cwd, tool_name, tool_input }: HookInput): Promise<string> {
  const { BONDED_ORIGIN, BONDED_SERVER_CREDENTIAL, BONDED_SUBJECT = '' } = process.env
  const args = { tool: tool_name, input: tool_input, cwd }
  const approvals = createApprovals<typeof args>({
    service: { baseUrl: BONDED_ORIGIN, serverCredential: BONDED_SERVER_CREDENTIAL },
    store: sqliteApprovalStore(new DatabaseSync(process.env['BONDED_STORE'] ?? 'approvals.db')),
    workflow: 'agent_commands',
    action: 'run_tool',
    version: '1',
    describe: ({ tool }) => [{ label: 'Tool', value: tool }],
  })
  const requester = { kind: 'agent', name: 'Claude Code' } as const
  const { id } = await approvals.request({ owner, subjectRef: BONDED_SUBJECT, requester, args })
  const status = await approvals.wait({ id, owner })
  if (status !== 'approved') return status
  // This uses the approval. The tool runs after this process, so its end is not known here.
  return approvals.execute({ id, owner, args }, async () => 'approved')
}

try {
  const reason = await ask(JSON.parse(await text(process.stdin)) as HookInput)
  const hookSpecificOutput = {
    hookEventName: 'PreToolUse',
    permissionDecision: reason === 'approved' ? 'allow' : 'deny',
    permissionDecisionReason: `The user's phone: ${reason}.`,
  }
  console.log(JSON.stringify({ hookSpecificOutput }))
} catch (error) {
  console.error(String(error))
  // After any other failure than 2, Claude Code runs the tool.
  process.exitCode = 2
}
