import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { APPROVAL_TABLE, createApprovals } from '../../../integrator/src/approval/approval.ts'
import { systemClock } from '../../../integrator/src/index.ts'
import {
  type Execution,
  execute,
  openStore,
  STEPS,
} from '../../../integrator/tests/approval/dying-execution.ts'
import { ACTION, REQUEST } from '../../../integrator/tests/approval/harness.ts'
import { fakeService, SERVER_CREDENTIAL } from '../../../integrator/tests/fake-service.ts'
import { redisMissing, startRedis } from '../../../integrator/tests/redis-server.ts'
import { newDatabase } from '../servers/postgres.ts'
import { IS_FRESH } from '../../../../tests/random.ts'

/** How long a process that renews nothing is taken for one that runs. */
const LEASE_MS = 60_000
/** A process per step and store takes half a second of CPU time. */
const ROUNDS = IS_FRESH ? 20 : 1
const PROGRAM = join(import.meta.dirname, '../../../integrator/tests/approval/dying-execution.ts')

const [SENT, UNKNOWN, EXECUTED] = ['sent', 'outcome_unknown', 'already_executed'] as const
/**
 * What the next execution may answer. A change that was sent is committed, or not, and SQLite goes
 * on at once.
 */
const ANSWERS: Readonly<Record<(typeof STEPS)[number], readonly string[]>> = {
  'before running': [SENT],
  'running sent': [SENT, UNKNOWN, EXECUTED],
  running: [UNKNOWN],
  'before the action': [UNKNOWN],
  action: [UNKNOWN],
  'before done': [UNKNOWN],
  'done sent': [UNKNOWN, EXECUTED],
  done: [EXECUTED],
  'before completion': [EXECUTED],
  completion: [EXECUTED],
  'completed sent': [EXECUTED],
  completed: [EXECUTED],
}

const folder = mkdtempSync(join(tmpdir(), 'bonded-approvals-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The service, for processes of their own. */
const service = fakeService(() => Date.now())
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
  response.writeHead(answered.status).end(await answered.text())
}
await once(server, 'listening')
after(() => server.close())
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const redis = redisMissing === false ? await startRedis() : undefined
after(() => redis?.close())
for (const [name, value] of [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
] as const)
  await redis?.send(['CONFIG', 'SET', name, value])

const postgres = await newDatabase()
const pool = new pg.Pool({ connectionString: postgres })
await pool.query(APPROVAL_TABLE)
await pool.end()

for (const [database, address, skip] of [
  ['sqlite', join(folder, 'approvals.db'), false],
  ['pg', postgres, false],
  ['redis', redis?.path ?? '', redisMissing],
] as const)
  describe(`${database}: kill -9 of an execution`, { skip, concurrency: 2 }, () => {
    for (const step of STEPS)
      test(`at: ${step}`, async () => {
        for (let round = 0; round < ROUNDS; round++) await dieAndRecover(step, database, address)
      })
  })

let asked = 0

/** A process dies at the step. Another one then executes the approval again, and reconciles. */
async function dieAndRecover(
  step: (typeof STEPS)[number],
  database: Execution['database'],
  address: string,
): Promise<void> {
  const { store, close } = await openStore({ database, address })
  try {
    // A lease later: the process that died is not taken for one that runs.
    const clock = { ...systemClock, now: () => Date.now() + LEASE_MS }
    const connection = { baseUrl, serverCredential: SERVER_CREDENTIAL, clock }
    const approvals = createApprovals({ ...ACTION, service: connection, store })
    // Another test asks for the same at the same moment, as another process would.
    const { id } = await approvals.request({ ...REQUEST, key: `${database} ${step} ${++asked}` })
    service.bond(id)
    const effects = join(folder, id)
    const execution = { database, address, baseUrl, id, owner: REQUEST.owner, effects }
    const runs = () =>
      existsSync(effects) ? readFileSync(effects, 'utf8').split('\n').length - 1 : 0
    const child = spawn(process.execPath, [PROGRAM, step, JSON.stringify(execution)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const [, signal] = await once(child, 'exit')
    assert.equal(signal, 'SIGKILL')

    const runsBefore = runs()
    const again = await execute(execution, store).catch((error: { code: string }) => error.code)
    assert.ok(ANSWERS[step].includes(again), again)
    assert.equal(runs(), again === 'sent' ? runsBefore + 1 : runsBefore)
    assert.ok(runs() <= 1, 'two runs')
    // Either its outcome is open, or the user reads that it is done.
    const isListed = (await approvals.reconcile()).some((unknown) => unknown.id === id)
    assert.equal(service.session(id)?.state, isListed ? 'bonded' : 'completed')
    await approvals.reconcile(async (unknown) => (unknown.id === id ? 'failed' : undefined))
  } finally {
    await close()
  }
}
