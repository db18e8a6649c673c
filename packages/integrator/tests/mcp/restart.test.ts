import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { InboxItem } from '@bonded/contract'
import {
  Client as Client2,
  StreamableHTTPClientTransport as HttpClient2,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioClient2 } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { inboxHarness } from '../../../../tests/harness/inbox.ts'
import { ARGS } from '../approval/harness.ts'
import type { Answer } from './harness.ts'
import { type AnyClient, MODERN } from './transports.ts'

const TOKEN = 'of-anna'
const AUTHORIZED = { requestInit: { headers: { authorization: `Bearer ${TOKEN}` } } }
const NAMED = { name: 'agent', version: '1.0.0' }
const SERVER = join(import.meta.dirname, 'stored-server.ts')
const NODE_ARGS = ['--conditions=@bonded/source']

interface Generations {
  readonly server: '1' | '2'
  readonly client: '1' | '2'
}

/** The service, a user with a phone, and a file of approvals that several processes share. */
async function bank() {
  const parts = await inboxHarness({
    workflows: [
      { name: 'page', actions: ['act'] },
      { name: 'agent_payments', actions: ['transfer'], delivery: 'inbox' },
    ],
  })
  const { h, phone, subjectRef } = parts
  const folder = mkdtempSync(join(tmpdir(), 'bonded-mcp-'))
  const env = {
    ...(process.env as Record<string, string>),
    BASE_URL: `http://127.0.0.1:${h.running.port}`,
    CREDENTIAL: h.shop.server,
    SUBJECT_REF: subjectRef,
    STORE: join(folder, 'approvals.db'),
    TOKEN,
  }
  const running: (() => Promise<unknown>)[] = []
  /** A process of the server, and a client of it. */
  async function start({ server, client }: Generations, transport: 'stdio' | 'http') {
    const args = [...NODE_ARGS, SERVER, server, transport]
    const started = await (transport === 'http'
      ? overHttp(client, args, env)
      : overStdio(client, { command: process.execPath, args, env }))
    running.push(started.kill)
    return { ...started, call: callsOf(started.client) }
  }
  return {
    start,
    /** The requests that the phone lists. */
    async waiting() {
      return ((await parts.open()).body as { items: readonly InboxItem[] }).items
    },
    async approve() {
      const [item] = await this.waiting()
      assert.ok(item)
      const listed = { id: item.session_id, nonce: item.nonce }
      assert.equal((await h.claim(phone, listed)).status, 200)
      assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
    },
    async [Symbol.asyncDispose]() {
      for (const kill of running) await kill()
      await parts[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    },
  }
}

async function overStdio(
  generation: Generations['client'],
  process: { command: string; args: string[]; env: Record<string, string> },
) {
  if (generation === '1') {
    const client = new Client(NAMED)
    await client.connect(new StdioClientTransport(process))
    return { client: client as AnyClient, kill: () => client.close() }
  }
  const client = new Client2(NAMED, MODERN)
  await client.connect(new StdioClient2(process))
  return { client: client as AnyClient, kill: () => client.close() }
}

async function overHttp(
  generation: Generations['client'],
  args: readonly string[],
  env: NodeJS.ProcessEnv,
) {
  const server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'close')
  const kill = async () => {
    server.kill('SIGKILL')
    await ended
  }
  const line = once(createInterface(server.stdout), 'line')
  const [url] = (await Promise.race([line, ended])) as [string]
  if (generation === '1') {
    const client = new Client(NAMED)
    await client.connect(new StreamableHTTPClientTransport(new URL(url), AUTHORIZED))
    return { client: client as AnyClient, kill }
  }
  const client = new Client2(NAMED, MODERN)
  await client.connect(new HttpClient2(new URL(url), AUTHORIZED))
  return { client: client as AnyClient, kill }
}

function callsOf(client: AnyClient) {
  return async (more: object = {}, name = 'transfer') => {
    const { content } = (await client.callTool({ name, arguments: { ...ARGS, ...more } })) as {
      content: readonly { readonly text: string }[]
    }
    return JSON.parse(content[0]?.text ?? '') as Answer
  }
}

for (const [server, client, transport] of [
  ['1', '1', 'stdio'],
  ['1', '1', 'http'],
  ['2', '2', 'stdio'],
  ['2', '2', 'http'],
  ['2', '1', 'http'],
] as const)
  test(`a call to SDK ${server} over ${transport} by a client of SDK ${client} runs once, after the restart of its server`, async () => {
    await using user = await bank()
    const generations = { server, client }
    const first = await user.start(generations, transport)
    const second = await user.start(generations, transport)
    const asked = await first.call()
    assert.equal(asked.status, 'approval_required')
    const { approval_id } = asked
    assert.equal((await second.call()).approval_id, approval_id)
    assert.deepEqual(
      (await user.waiting()).map(({ session_id }) => session_id),
      [approval_id],
    )
    assert.equal((await first.call({ approval_id })).status, 'not_approved')
    await user.approve()
    await first.kill()
    const restarted = await user.start(generations, transport)
    assert.equal((await restarted.call({ approval_id }, 'get_approval')).status, 'approved')
    const calls = [restarted.call({ approval_id }), second.call({ approval_id })]
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 'sent').length, 1)
    assert.equal((await second.call({ approval_id })).status, 'already_executed')
  })
