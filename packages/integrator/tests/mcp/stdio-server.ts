import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import * as z from 'zod/v4'
import { ANNA, serverOf, twoTools } from './harness.ts'

/** A server over stdio, with tools that approve and that count, for the test. */
const { service, transfer } = twoTools()
let runs = 0
const server = serverOf([transfer], ANNA, async () => void (runs += 1))
server.registerTool('approve_on_phone', { inputSchema: { id: z.string() } }, ({ id }) => {
  service.bond(id)
  return { content: [{ type: 'text', text: '{}' }] }
})
server.registerTool('count_runs', {}, () => ({
  content: [{ type: 'text', text: JSON.stringify({ status: String(runs) }) }],
}))
await server.connect(new StdioServerTransport())
