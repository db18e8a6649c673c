import { appendFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  ApprovalError,
  type Approvals,
  type ApprovalStore,
  createApprovals,
  type Person,
  postgresApprovalStore,
  sqliteApprovalStore,
} from '@bonded/integrator/approval'
import { GateError, systemClock } from '@bonded/integrator'
import pg from 'pg'

/** A payment that two of three people approve. */
export interface Payment {
  readonly need: number
}

/** Where a backend has its rows and its ledger. */
export interface BackendOptions {
  readonly databaseUrl: string
  readonly ledger: string
  readonly credential: string
  /** The public origin of the service, which no node listens at. */
  readonly origin: string
  /** How far its clock is ahead, so that it takes the others for dead. */
  readonly aheadMs: number
}

/** What a backend does once, with the nodes of this moment. */
export type Task = { readonly number: number; readonly nodes: readonly string[] } & Work

export type Work =
  | { readonly verb: 'request'; readonly payment: Payment; readonly people: readonly Person[] }
  | { readonly verb: 'execute'; readonly payment: Payment; readonly id: string }
  | { readonly verb: 'status'; readonly id: string }
  | { readonly verb: 'reconcile' }

export interface Answer {
  readonly number: number
  readonly answer: string
}

const OWNER = 'accounting'
const SQLITE = 'sqlite:'

/** A backend in a process of its own, which gets tasks from its parent. */
async function serve({ databaseUrl, ledger, credential, origin, aheadMs }: BackendOptions) {
  let nodes: readonly string[] = []
  let calls = 0
  const openStore = storeAt(databaseUrl)
  const open = async () =>
    createApprovals<Payment>({
      service: {
        baseUrl: origin,
        serverCredential: credential,
        fetch: (url, init) => {
          const node = nodes[calls++ % nodes.length] ?? origin
          return fetch(node + url.slice(origin.length), init)
        },
        clock: { ...systemClock, now: () => Date.now() + aheadMs },
      },
      store: await openStore(),
      workflow: 'wire',
      action: 'durability',
      version: '1',
      quorum: { minimum: 2 },
      describe: ({ need }) => [{ label: 'Payment', value: String(need) }],
    })
  let opened: Approvals<Payment> | undefined
  const perform = async (task: Task): Promise<string> => {
    nodes = task.nodes
    // The database can be down when this process starts.
    const approvals = (opened ??= await open())
    if (task.verb === 'reconcile')
      return (await approvals.reconcile()).map(({ id }) => id).join(' ')
    if (task.verb === 'request') {
      const { payment: args, people } = task
      const requester = { kind: 'agent', name: 'Invoice agent' } as const
      const asks = { people, needed: 2, maker: null, requester, args }
      return (await approvals.request({ owner: OWNER, ...asks, key: `payment ${args.need}` })).id
    }
    const approval = { id: task.id, owner: OWNER }
    if (task.verb === 'status') return approvals.status(approval)
    return approvals.execute({ ...approval, args: task.payment }, async (_args, { id }) => {
      // The action is the line: a process that is killed has written all of it, or nothing.
      appendFileSync(ledger, `${id} ${Date.now()}\n`, { flush: true })
      return 'ran'
    })
  }
  process.on('message', (task: Task) => {
    const answer = (text: string) =>
      process.send?.({ number: task.number, answer: text } satisfies Answer)
    perform(task).then(answer, (error: unknown) => answer(endOf(error)))
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ number: 0, answer: 'ready' } satisfies Answer)
}

/** A service or a database that is down is tried again. */
function endOf(error: unknown): string {
  if (error instanceof ApprovalError) return [error.code, ...error.reasons].join(' ')
  return error instanceof GateError && !error.retryable ? `refused ${error.message}` : 'retry'
}

function storeAt(url: string): () => Promise<ApprovalStore> {
  if (url.startsWith(SQLITE)) {
    const store = sqliteApprovalStore(new DatabaseSync(url.slice(SQLITE.length)))
    return async () => store
  }
  const pool = new pg.Pool({ connectionString: url })
  // An idle connection of a server that was stopped.
  pool.on('error', () => {})
  return () => postgresApprovalStore(pool)
}

await serve(JSON.parse(process.argv[2] ?? '') as BackendOptions)
