import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod/v4'
import { NotStarted } from '../../src/approval/approval.ts'
import { type Caller, withApproval } from '../../src/mcp/mcp.ts'
import { ARGS, type Transfer } from '../approval/harness.ts'
import { strangeSessionId } from '../fake-service.ts'
import {
  ANNA,
  CALLERS,
  connectClient,
  type Elicited,
  httpTransport,
  serveHttp,
  serverOf,
  twoTools,
} from './harness.ts'

const { subjectRef, requester } = CALLERS['anna'] as Caller
const INBOX = 'https://bonded.test/inbox'

/** The two tools over HTTP, a client of Anna, and what ran. */
async function overHttp(options: Parameters<typeof connectClient>[1] = {}) {
  const tools = twoTools()
  const ran: Transfer[] = []
  const byToken = ({ extra }: { extra?: Record<string, unknown> }) =>
    CALLERS[extra?.['login'] as string] as Caller
  const serve = () =>
    serveHttp(() =>
      serverOf([tools.transfer, tools.refund], byToken, async (approved) => {
        ran.push(approved)
      }),
    )
  const http = await serve()
  const anna = await connectClient(httpTransport(http.url, 'anna'), options)
  const opened = async () => {
    const { status, approval_id = '' } = await anna.call('transfer', { ...ARGS })
    assert.equal(status, 'approval_required')
    return approval_id
  }
  return {
    ...tools,
    http,
    serve,
    anna,
    ran,
    opened,
    async approved() {
      const id = await opened()
      tools.service.bond(id)
      return id
    },
    async [Symbol.asyncDispose]() {
      await anna[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** A client and a server in one process, without authentication, as over stdio. */
async function inProcess(
  caller: Parameters<typeof serverOf>[1],
  run = async () => {},
  tools = twoTools(),
) {
  const server = serverOf([tools.transfer], caller, run)
  const errors: Error[] = []
  Object.assign(server.server, { onerror: (error: Error) => void errors.push(error) })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  return { ...(await connectClient(ours)), ...tools, errors }
}

for (const revision of SUPPORTED_PROTOCOL_VERSIONS)
  test(`a tool runs once, after the approval, over HTTP in revision ${revision}`, async () => {
    await using bank = await overHttp({ revision })
    const { anna, ran, service } = bank
    const asked = await anna.call('transfer', { ...ARGS })
    const { approval_id = '' } = asked
    assert.deepEqual(asked, { status: 'approval_required', approval_id, inbox_url: INBOX })
    assert.deepEqual(await anna.call('transfer', { ...ARGS }), asked)
    assert.deepEqual(service.ids(), [approval_id])
    assert.equal(service.session(approval_id)?.subject_ref, subjectRef)
    assert.equal((await anna.call('get_approval', { approval_id })).status, 'waiting')
    const early = await anna.call('transfer', { ...ARGS, approval_id })
    assert.equal(early.status, 'not_approved')
    assert.deepEqual(ran, [])
    service.bond(approval_id)
    assert.equal((await anna.call('get_approval', { approval_id })).status, 'approved')
    assert.equal((await anna.call('transfer', { ...ARGS })).status, 'approved')
    assert.deepEqual(ran, [])
    assert.equal((await anna.call('transfer', { ...ARGS, approval_id })).status, 'sent')
    assert.deepEqual(ran, [ARGS])
    const again = await anna.call('transfer', { ...ARGS, approval_id })
    assert.equal(again.status, 'already_executed')
    assert.equal((await anna.call('get_approval', { approval_id })).status, 'executed')
    assert.deepEqual(ran, [ARGS])
    assert.notEqual((await anna.call('transfer', { ...ARGS })).approval_id, approval_id)
  })

test('the description of a tool says what to do, and its schema has the id', async () => {
  await using bank = await overHttp()
  const { tools } = await bank.anna.client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['transfer', 'get_approval', 'refund'],
  )
  const [transfer] = tools
  assert.match(transfer?.description ?? '', /^Moves money\.\n\n.*get_approval/s)
  assert.deepEqual(Object.keys(transfer?.inputSchema.properties ?? {}), [
    'to',
    'cents',
    'approval_id',
  ])
  assert.deepEqual(transfer?.inputSchema.required, ['to', 'cents'])
})

test('another owner cannot use or read an approval, even in the same MCP session', async () => {
  await using bank = await overHttp()
  const approval_id = await bank.approved()
  const session = (bank.anna.client.transport as { sessionId?: string }).sessionId
  const stolen = httpTransport(bank.http.url, 'bert', session)
  for (const transport of [httpTransport(bank.http.url, 'bert'), stolen]) {
    await using bert = await connectClient(transport)
    const used = await bert.call('transfer', { ...ARGS, approval_id })
    const read = await bert.call('get_approval', { approval_id })
    assert.deepEqual([used.status, read.status], ['approval_unknown', 'approval_unknown'])
    const own = await bert.call('transfer', { ...ARGS })
    assert.notEqual(own.approval_id, approval_id)
  }
  assert.deepEqual(bank.ran, [])
})

test('a changed argument does not run, and the approved one still does', async () => {
  await using bank = await overHttp()
  const approval_id = await bank.approved()
  const changed = await bank.anna.call('transfer', { ...ARGS, cents: 1, approval_id })
  assert.deepEqual([changed.status, changed.reasons], ['not_approved', ['context_mismatch']])
  assert.deepEqual(bank.ran, [])
  assert.equal((await bank.anna.call('transfer', { ...ARGS, approval_id })).status, 'sent')
})

test('one of many concurrent calls with an approval runs', async () => {
  await using bank = await overHttp()
  const approval_id = await bank.approved()
  const calls = Array.from({ length: 20 }, () =>
    bank.anna.call('transfer', { ...ARGS, approval_id }),
  )
  const sent = (await Promise.all(calls)).filter(({ status }) => status === 'sent')
  assert.deepEqual([sent.length, bank.ran.length], [1, 1])
})

test('an approval of another tool, and an unknown id, run nothing', async () => {
  await using bank = await overHttp()
  const approved = await bank.approved()
  for (const approval_id of [approved, strangeSessionId()]) {
    const { status } = await bank.anna.call('refund', { ...ARGS, approval_id })
    assert.equal(status, 'approval_unknown')
  }
  assert.deepEqual(bank.ran, [])
})

test('arguments that are named as the caller change neither the owner nor the user', async () => {
  await using bank = await overHttp()
  const named = { owner: 'bert', subjectRef: 'b'.repeat(43), requester: { kind: 'person' } }
  const { approval_id = '' } = await bank.anna.call('transfer', { ...ARGS, ...named })
  assert.equal(bank.service.session(approval_id)?.subject_ref, subjectRef)
  assert.deepEqual(bank.service.session(approval_id)?.context?.requester, requester)
  await using bert = await connectClient(httpTransport(bank.http.url, 'bert'))
  bank.service.bond(approval_id)
  const stolen = await bert.call('transfer', { ...ARGS, approval_id, owner: 'anna' })
  assert.equal(stolen.status, 'approval_unknown')
})

test('an argument of the tool that is named owner is shown, and is not the caller', async () => {
  const { service, transfer: approvals } = twoTools()
  const server = new McpServer({ name: 'bank', version: '1.0.0' })
  withApproval(
    server,
    {
      description: 'Moves money.',
      inputSchema: { to: z.string(), cents: z.int(), owner: z.string() },
      run: async () => ({ content: [] }),
    },
    { approvals: approvals as never, caller: ANNA },
  )
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  await using agent = await connectClient(ours)
  const { approval_id = '' } = await agent.call('transfer', { ...ARGS, owner: 'bert' })
  assert.match(service.session(approval_id)?.context?.text ?? '', /"owner": "bert"/)
  assert.equal(await approvals.status({ id: approval_id, owner: 'anna' }), 'waiting')
})

test('concurrent calls of two servers make one request', async () => {
  await using bank = await overHttp()
  await using second = await bank.serve()
  await using other = await connectClient(httpTransport(second.url, 'anna'))
  const calls = Array.from({ length: 10 }, (_, index) =>
    (index % 2 === 0 ? bank.anna : other).call('transfer', { ...ARGS }),
  )
  const ids = new Set((await Promise.all(calls)).map(({ approval_id }) => approval_id))
  assert.deepEqual([...ids], bank.service.ids())
  assert.equal(ids.size, 1)
})

test('a call after a decline is a new request', async () => {
  await using bank = await overHttp()
  const id = await bank.opened()
  bank.service.change(id, { state: 'killed', ended_reason: 'user_declined' })
  const { status } = await bank.anna.call('get_approval', { approval_id: id })
  assert.equal(status, 'declined')
  assert.notEqual(await bank.opened(), id)
})

test('while an outcome is unknown, the same arguments make no new request', async () => {
  await using agent = await inProcess(ANNA, async () => {
    throw new Error('the connection to 10.0.0.7 was reset')
  })
  const { approval_id = '' } = await agent.call('transfer', { ...ARGS })
  agent.service.bond(approval_id)
  const failed = await agent.call('transfer', { ...ARGS, approval_id })
  assert.equal(failed.status, 'outcome_unknown')
  assert.doesNotMatch(JSON.stringify(failed), /10\.0/)
  const again = await agent.call('transfer', { ...ARGS })
  assert.deepEqual([again.status, again.approval_id], ['outcome_unknown', approval_id])
})

test('an action that was not started can be called again with its approval', async () => {
  let isOpen = false
  await using agent = await inProcess(ANNA, async () => {
    if (!isOpen) throw new NotStarted('the bank is closed')
  })
  const { approval_id = '' } = await agent.call('transfer', { ...ARGS })
  agent.service.bond(approval_id)
  const closed = await agent.call('transfer', { ...ARGS, approval_id })
  assert.deepEqual(closed, { status: 'not_started', message: 'the bank is closed' })
  isOpen = true
  assert.equal((await agent.call('transfer', { ...ARGS, approval_id })).status, 'sent')
})

for (const answer of ['accept', 'decline'] as const)
  test(`a client of URL elicitation gets the inbox, and its ${answer} approves nothing`, async () => {
    const elicited: Elicited[] = []
    await using bank = await overHttp({
      onUrl: (params) => (elicited.push(params), answer),
    })
    const approval_id = await bank.opened()
    const [params] = elicited
    assert.equal(elicited.length, 1)
    assert.ok(params?.mode === 'url')
    assert.deepEqual([params.url, params.elicitationId], [INBOX, approval_id])
    assert.equal((await bank.anna.call('get_approval', { approval_id })).status, 'waiting')
    const early = await bank.anna.call('transfer', { ...ARGS, approval_id })
    assert.equal(early.status, 'not_approved')
    assert.deepEqual(bank.ran, [])
    bank.service.bond(approval_id)
    assert.equal((await bank.anna.call('transfer', { ...ARGS, approval_id })).status, 'sent')
    assert.equal(elicited.length, 1)
  })

test('a client whose elicitation fails gets the answer to its call', async () => {
  await using bank = await overHttp({ onUrl: () => Promise.reject(new Error('no browser')) })
  assert.match(await bank.opened(), /^sess_/)
})

// Models write these for an argument that they must fill in, and have no value for.
for (const none of [null, '', ' ', 'none', 'null', 'N/A', 'constructor'])
  test(`a call with the approval id ${JSON.stringify(none)} asks, and runs nothing`, async () => {
    await using bank = await overHttp()
    const first = await bank.anna.call('transfer', { ...ARGS, approval_id: none })
    assert.equal(first.status, 'approval_required')
    const id = first.approval_id ?? ''
    bank.service.bond(id)
    const again = await bank.anna.call('transfer', { ...ARGS, approval_id: none })
    assert.deepEqual([again.status, again.approval_id], ['approved', id])
    assert.deepEqual(bank.ran, [])
  })

test('a call that waits for the user is not an error, which an agent would repair', async () => {
  await using bank = await overHttp()
  const call = (more: object) =>
    bank.anna.client.callTool({ name: 'transfer', arguments: { ...ARGS, ...more } })
  assert.equal((await call({})).isError, false)
  assert.equal((await call({ approval_id: strangeSessionId() })).isError, true)
})

test('the agent gets the reason of a rejection, and no detail of a fault', async () => {
  await using agent = await inProcess(ANNA)
  const error = { code: 'rate_limited', message: 'Refused.', requestId: 'x', reason: 'inbox_full' }
  const headers = { 'retry-after': '60' }
  agent.service.fault({ status: 429, headers, body: JSON.stringify({ error }) })
  assert.equal((await agent.call('transfer', { ...ARGS })).status, 'inbox_full')
  agent.store.put = () => Promise.reject(new Error('postgres at 10.0.0.7 is gone'))
  assert.deepEqual(await agent.call('transfer', { ...ARGS }), { status: 'internal_error' })
  assert.deepEqual(
    agent.errors.map(({ message }) => message).at(-1),
    'postgres at 10.0.0.7 is gone',
  )
})
