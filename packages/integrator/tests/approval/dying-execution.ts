import { appendFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import {
  type ApprovalStore,
  createApprovals,
  postgresApprovalStore,
  redisApprovalStore,
  sqliteApprovalStore,
} from '../../src/approval/approval.ts'
import { systemClock } from '../../src/index.ts'
import { SERVER_CREDENTIAL } from '../fake-service.ts'
import { connectRedis } from '../redis-server.ts'
import { ACTION, ARGS, type Transfer } from './harness.ts'

/** The steps of an execution. A process can die at each. */
export const STEPS = [
  'before running',
  'running sent',
  'running',
  'before the action',
  'action',
  'before done',
  'done sent',
  'done',
  'before completion',
  'completion',
  'completed sent',
  'completed',
] as const
type Step = (typeof STEPS)[number]

const PATIENCE_MS = 60_000

/** Where the rows are, the service, and the approval. */
export interface Execution {
  readonly database: 'sqlite' | 'pg' | 'redis'
  readonly address: string
  readonly baseUrl: string
  readonly id: string
  readonly owner: string
  /** Gets a line for each run of the action. */
  readonly effects: string
  readonly quorum?: { readonly minimum: number }
}

/** A store of a process of its own. */
export async function openStore({
  database,
  address,
}: Pick<Execution, 'database' | 'address'>): Promise<{
  readonly store: ApprovalStore
  readonly close: () => unknown
}> {
  if (database === 'sqlite') {
    const db = new DatabaseSync(address)
    return { store: sqliteApprovalStore(db), close: () => db.close() }
  }
  if (database === 'pg') {
    const pool = new pg.Pool({ connectionString: address })
    return { store: await postgresApprovalStore(pool), close: () => pool.end() }
  }
  const { send, socket } = await connectRedis(address)
  return { store: await redisApprovalStore(send), close: () => socket.destroy() }
}

/** Executes an approval, and calls `reached` at each step. */
export async function execute(
  { baseUrl, id, owner, effects, quorum }: Execution,
  store: ApprovalStore,
  reached: (step: Step) => void = () => {},
): Promise<string> {
  const move: ApprovalStore['move'] = async (...change) => {
    const [, , to] = change
    if (to === 'running' || to === 'done') reached(`before ${to}`)
    const moving = store.move(...change)
    if (to === 'running' || to === 'done' || to === 'completed') {
      // The statement is on its way, or is committed already.
      setImmediate(() => reached(`${to} sent`))
      const isMoved = await moving
      reached(to)
      return isMoved
    }
    return moving
  }
  const approvals = createApprovals<Transfer>({
    ...ACTION,
    ...(quorum && { quorum }),
    service: {
      baseUrl,
      serverCredential: SERVER_CREDENTIAL,
      // A busy machine can take long to answer.
      clock: { ...systemClock, timeout: () => AbortSignal.timeout(PATIENCE_MS) },
      async fetch(url, init) {
        if (init.method === 'POST') reached('before completion')
        const response = await fetch(url, init)
        if (init.method === 'POST') reached('completion')
        return response
      },
    },
    store: { ...store, move },
  })
  return approvals.execute({ id, owner, args: ARGS }, async () => {
    reached('before the action')
    appendFileSync(effects, `${id}\n`)
    reached('action')
    return 'sent'
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [last, execution = ''] = process.argv.slice(2)
  const parsed = JSON.parse(execution) as Execution
  const { store } = await openStore(parsed)
  await execute(parsed, store, (step) => {
    if (step === last) process.kill(process.pid, 'SIGKILL')
  })
}
