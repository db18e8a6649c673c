import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/** What a model does with the tool of `mcp-server.ts`: it calls, waits, and calls again. */
const revision = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const
const agent = new Client({ name: 'agent', version: '1.0.0' }, revision)
const server = join(import.meta.dirname, 'mcp-server.ts')
// Here one account runs both. Your agent must not be able to read the credential of the server.
const env = { ...process.env } as Record<string, string>
const args = [...process.execArgv, server]
await agent.connect(new StdioClientTransport({ command: process.execPath, args, env }))

async function call(name: string, given: Record<string, unknown>) {
  const { content } = await agent.callTool({ name, arguments: given })
  const [part] = content
  return JSON.parse(part?.type === 'text' ? part.text : '{}') as Record<string, string>
}

const transfer = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
const { approval_id, inbox_url } = await call('transfer', transfer)
console.error(`The tool waits for an approval: ${inbox_url}`)
let status
do {
  await setTimeout(1_000)
  status = (await call('get_approval', { approval_id }))['status']
} while (status === 'waiting')
console.log(await call('transfer', { ...transfer, approval_id }))
process.exitCode = status === 'approved' ? 0 : 1
await agent.close()
