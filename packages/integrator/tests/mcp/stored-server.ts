import { DatabaseSync } from 'node:sqlite'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createApprovals, sqliteApprovalStore } from '../../src/approval/approval.ts'
import { stdio } from '../../src/mcp/mcp.ts'
import { ACTION, AGENT, type Transfer } from '../approval/harness.ts'
import { serverOf } from './harness.ts'
import { listen } from './listen.ts'
import { serverOf2 } from './transports.ts'

/** A server of either generation, over stdio or stateless HTTP, whose approvals are in a file. */
const { BASE_URL, CREDENTIAL, SUBJECT_REF = '', STORE = '', TOKEN = '' } = process.env
const [generation, transport] = process.argv.slice(2)

const approvals = [
  createApprovals<Transfer>({
    service: { baseUrl: BASE_URL, serverCredential: CREDENTIAL },
    store: sqliteApprovalStore(new DatabaseSync(STORE)),
    ...ACTION,
  }),
]
const anna = { owner: 'anna', subjectRef: SUBJECT_REF, requester: AGENT }
const run = async () => {}
const caller = transport === 'stdio' ? stdio(anna) : () => anna
const open1 = () => serverOf(approvals, caller, run)
const open2 = () => serverOf2({ approvals, caller, run })

if (transport === 'http') {
  const handle = toNodeHandler(createMcpHandler(open2))
  const http = await listen(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return response.writeHead(401).end()
    const verified = Object.assign(request, {
      auth: { token: TOKEN, clientId: 'agent', scopes: [] },
    })
    if (generation === '2') return handle(verified as Parameters<typeof handle>[0], response)
    const each = new StreamableHTTPServerTransport({})
    await open1().connect(each)
    return each.handleRequest(verified, response)
  })
  console.log(http.url.href)
} else if (generation === '2') serveStdio(open2)
else await open1().connect(new StdioServerTransport())
