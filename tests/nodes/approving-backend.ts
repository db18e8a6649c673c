import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ApprovalStore,
  createApprovals,
} from '../../packages/integrator/src/approval/approval.ts'
import { systemClock } from '../../packages/integrator/src/index.ts'
import { openStore } from '../../packages/integrator/tests/approval/dying-execution.ts'

/** One payment that an agent needs. */
export interface Payment {
  readonly need: number
  readonly to: string
}

/** Where a backend has its rows, its service, and the ledger that it pays by. */
export interface BackendOptions {
  readonly database: 'sqlite' | 'pg' | 'redis'
  readonly address: string
  readonly baseUrl: string
  readonly serverCredential: string
  readonly ledger: string
}

/** What a backend does once, and the point at which it is killed meanwhile. */
export type Task = {
  readonly number: number
  /** Ends the process at this point of the task: before or after a commit, a call or the action. */
  readonly diesAt?: number | undefined
} & (
  | { readonly verb: 'request'; readonly subjectRef: string; readonly key: string }
  | { readonly verb: 'execute'; readonly id: string }
  | { readonly verb: 'reconcile' }
) & { readonly payment: Payment }

export interface Answer {
  readonly number: number
  readonly answer: string
}

/** How long a process that renews nothing is taken for one that runs. */
const LEASE_MS = 60_000
const OWNER = 'login-1'

/**
 * Writes once what becomes of an approval. Returns the first entry. It appears as a whole: another
 * process would read a file between its creation and its content as an entry that is not void.
 */
export function enter(ledger: string, id: string, entry: string): string {
  const [file, written] = [join(ledger, id), join(ledger, `${randomUUID()}.new`)]
  writeFileSync(written, entry, { flush: true })
  try {
    linkSync(written, file)
  } catch {
    return readFileSync(file, 'utf8')
  } finally {
    unlinkSync(written)
  }
  return entry
}

/** A backend in a process of its own, which gets tasks from its parent. */
async function serve({ database, address, baseUrl, serverCredential, ledger }: BackendOptions) {
  const { store } = await openStore({ database, address })
  const approvalsOf = (reached: () => void, aheadMs: number) => {
    /** Before the call, while it is on its way, and after it. */
    const around = async <T>(act: () => Promise<T>): Promise<T> => {
      reached()
      const acting = act()
      await new Promise(setImmediate)
      reached()
      const result = await acting
      reached()
      return result
    }
    const dying: ApprovalStore = {
      ...store,
      put: (row) => around(() => store.put(row)),
      move: (...change) => around(() => store.move(...change)),
    }
    return createApprovals<Payment>({
      service: {
        baseUrl,
        serverCredential,
        fetch: (url, init) => around(() => fetch(url, init)),
        clock: {
          ...systemClock,
          now: () => Date.now() + aheadMs,
          // A busy machine can take long to answer.
          timeout: () => AbortSignal.timeout(60_000),
        },
      },
      store: dying,
      // Its requests outlast what all lanes of the test advance the clock meanwhile.
      workflow: 'day',
      action: 'act',
      version: '1',
      describe: ({ need, to }) => [
        { label: 'Invoice', value: String(need) },
        { label: 'To', value: to },
      ],
    })
  }
  const perform = async (task: Task): Promise<string> => {
    let points = 0
    const reached = () => {
      if (++points === task.diesAt) process.kill(process.pid, 'SIGKILL')
    }
    const { payment } = task
    if (task.verb === 'request') {
      const { subjectRef, key } = task
      const requester = { kind: 'agent', name: 'Invoice agent' } as const
      const request = { owner: OWNER, subjectRef, requester, args: payment, key }
      return (await approvalsOf(reached, 0).request(request)).id
    }
    if (task.verb === 'execute')
      return approvalsOf(reached, 0).execute(
        { id: task.id, owner: OWNER, args: payment },
        async (args, { id }) => {
          reached()
          const paid = JSON.stringify({ paid: args })
          const found = enter(ledger, id, paid)
          reached()
          if (found === 'void') throw new Error('the entry is void')
          // A second run would find the entry of the first one.
          writeFileSync(join(ledger, `${id}.runs`), 'run\n', { flag: 'a' })
          return 'sent'
        },
      )
    // The process that died is not taken for one that runs. One that runs is taken for dead.
    const open = await approvalsOf(reached, LEASE_MS).reconcile(async ({ id }) =>
      enter(ledger, id, 'void') === 'void' ? 'failed' : 'done',
    )
    return String(open.length)
  }
  process.on('message', (task: Task) => {
    const { number } = task
    const answer = (text: string) => process.send?.({ number, answer: text } satisfies Answer)
    perform(task).then(answer, (error: { code?: string; message: string }) =>
      answer(`error ${error.code ?? error.message}`),
    )
  })
  process.send?.({ number: 0, answer: 'ready' } satisfies Answer)
}

if (process.argv[2] === 'serve') await serve(JSON.parse(process.argv[3] ?? '') as BackendOptions)
