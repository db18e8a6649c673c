import { stdio, withApproval } from '@bonded/integrator/mcp2'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod/v4'
import { transferApprovals } from './transfers.ts'

/** A server of MCP over stdio, whose tool runs once when its user has approved the arguments. */
const { BONDED_ORIGIN, BONDED_SERVER_CREDENTIAL, BONDED_SUBJECT = '' } = process.env
const service = { baseUrl: BONDED_ORIGIN, serverCredential: BONDED_SERVER_CREDENTIAL }
const approvals = transferApprovals(service)
// Over HTTP, pass a function of the access token, which finds the user in your data.
const caller = stdio({
  owner: 'agent-1',
  subjectRef: BONDED_SUBJECT,
  requester: { kind: 'agent', name: 'Invoice agent' },
})

serveStdio(() => {
  const server = new McpServer({ name: 'payments', version: '1.0.0' })
  Object.assign(server.server, { onerror: console.error })
  withApproval(
    server,
    {
      description: 'Transfers money from the company account.',
      inputSchema: { to: z.string(), cents: z.int().positive() },
      // Send the money here, under an id that your bank accepts once.
      run: async ({ cents }, { id }) => ({
        content: [{ type: 'text', text: JSON.stringify({ status: 'sent', cents, id }) }],
      }),
    },
    { approvals, caller },
  )
  return server
})
