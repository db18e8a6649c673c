import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { createApprovals } from '../../src/approval/approval.ts'
import { systemClock } from '../../src/index.ts'
import { SERVER_CREDENTIAL } from '../fake-service.ts'
import { quorumService } from '../quorum-service.ts'
import { ASK_STEPS } from './dying-ask.ts'
import { type Execution, execute, openStore, STEPS } from './dying-execution.ts'
import { ACTION, ARGS, type Transfer } from './harness.ts'
import { ANN, BOB, OF_TWO } from './quorum-harness.ts'

/** How long a process that renews nothing is taken for one that runs. */
const LEASE_MS = 60_000
const QUORUM = { minimum: 2 }
const DONE = ['completed', 'completed', 'decided']

const folder = mkdtempSync(join(tmpdir(), 'bonded-quorums-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const address = join(folder, 'approvals.db')

/** The service, for processes of their own. */
const service = quorumService(() => Date.now())
/** Resolves once a read of a quorum may be answered. */
let mayRead = async () => {}
const server = createServer((request, response) => void answer(request, response)).listen(
  0,
  '127.0.0.1',
)
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answered = await service.fetch(`http://localhost${request.url}`, {
    method: request.method ?? '',
    headers: request.headers as Record<string, string>,
    body: (await text(request)) || undefined,
    redirect: 'manual',
    signal: new AbortController().signal,
  } as Parameters<typeof service.fetch>[1])
  if (request.method === 'GET') await mayRead()
  response.writeHead(answered.status).end(await answered.text())
}
await once(server, 'listening')
after(() => server.close())
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const { store, close } = await openStore({ database: 'sqlite', address })
after(close)
// A lease later: the process that died is not taken for one that runs.
const clock = {
  ...systemClock,
  now: () => Date.now() + LEASE_MS,
  // A busy machine can take long to answer.
  timeout: () => AbortSignal.timeout(LEASE_MS),
}
const approvals = createApprovals<Transfer>({
  ...ACTION,
  service: { baseUrl, serverCredential: SERVER_CREDENTIAL, clock },
  store,
  quorum: QUORUM,
})

async function approved(key: string): Promise<Execution> {
  const { id } = await approvals.request({ ...OF_TWO, key })
  for (const { ref } of [ANN, BOB]) service.bond(service.idOf(id, ref))
  const { owner } = OF_TWO
  return {
    database: 'sqlite',
    address,
    baseUrl,
    id,
    owner,
    effects: join(folder, id),
    quorum: QUORUM,
  }
}

function start(program: string, args: readonly string[]) {
  const path = join(import.meta.dirname, program)
  return once(
    spawn(process.execPath, ['--conditions=@bonded/source', path, ...args], { stdio: 'ignore' }),
    'exit',
  )
}

function runsOf({ effects }: Execution): number {
  return existsSync(effects) ? readFileSync(effects, 'utf8').split('\n').length - 1 : 0
}

for (const step of STEPS)
  test(`kill -9 of an execution of a quorum at: ${step}`, async () => {
    const execution = await approved(step)
    const [, signal] = await start('dying-execution.ts', [step, JSON.stringify(execution)])
    assert.equal(signal, 'SIGKILL')
    const before = runsOf(execution)
    const again = await execute(execution, store).catch((error: { code: string }) => error.code)
    assert.equal(runsOf(execution), again === 'sent' ? before + 1 : before)
    assert.ok(runsOf(execution) <= 1, 'two runs')
    // Either its outcome is open, or every phone reads what came of it.
    const isListed = (await approvals.reconcile()).some(({ id }) => id === execution.id)
    if (!isListed) assert.equal(runsOf(execution), 1)
    const open = ['bonded', 'bonded', 'pending']
    assert.deepEqual(service.states(execution.id), isListed ? open : DONE)
    await approvals.reconcile(async ({ id }) => (id === execution.id ? 'done' : undefined))
    assert.deepEqual(service.states(execution.id), DONE)
  })

test('of two processes that read the same two approvals at once, one runs the action', async () => {
  const execution = await approved('at once')
  const { promise: both, resolve } = Promise.withResolvers<void>()
  let reads = 0
  mayRead = async () => {
    if (++reads === 2) resolve()
    await both
  }
  const args = ['never', JSON.stringify(execution)]
  const ends = await Promise.all([1, 2].map(() => start('dying-execution.ts', args)))
  assert.deepEqual(
    ends.map(([code]) => Number(code)).toSorted((a, b) => a - b),
    [0, 1],
  )
  assert.equal(runsOf(execution), 1)
  assert.deepEqual(service.states(execution.id), DONE)
})

for (const step of ASK_STEPS)
  test(`the repeated request of a process that was killed at: ${step}, rings once`, async () => {
    const before = service.quorumIds().length
    const [, signal] = await start('dying-ask.ts', [step, address, baseUrl, step])
    assert.equal(signal, 'SIGKILL')
    const { id } = await approvals.request({ ...OF_TWO, key: step })
    assert.equal(service.quorumIds().length, before + 1)
    for (const { ref } of [ANN, BOB]) service.bond(service.idOf(id, ref))
    const ref = { id, owner: OF_TWO.owner, args: ARGS }
    assert.equal(await approvals.execute(ref, async () => 'sent'), 'sent')
  })
