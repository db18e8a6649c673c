import { createApprovals } from '../../src/approval/approval.ts'
import { systemClock } from '../../src/index.ts'
import { SERVER_CREDENTIAL } from '../fake-service.ts'
import { openStore } from './dying-execution.ts'
import { ACTION, type Transfer } from './harness.ts'
import { OF_TWO } from './quorum-harness.ts'

/** The steps of a request of a quorum. A process can die at each. */
export const ASK_STEPS = ['before begun', 'begun', 'before create', 'created', 'stored'] as const

const PATIENCE_MS = 60_000

const [last, address = '', baseUrl, key = ''] = process.argv.slice(2)
if (baseUrl !== undefined) {
  const reached = (step: (typeof ASK_STEPS)[number]) => {
    if (step === last) process.kill(process.pid, 'SIGKILL')
  }
  const { store } = await openStore({ database: 'sqlite', address })
  const approvals = createApprovals<Transfer>({
    ...ACTION,
    quorum: { minimum: 2 },
    service: {
      baseUrl,
      serverCredential: SERVER_CREDENTIAL,
      clock: { ...systemClock, timeout: () => AbortSignal.timeout(PATIENCE_MS) },
      async fetch(url, init) {
        reached('before create')
        const response = await fetch(url, init)
        reached('created')
        return response
      },
    },
    store: {
      ...store,
      async put(row) {
        const isAsk = row.id.startsWith('ask_')
        if (isAsk) reached('before begun')
        await store.put(row)
        reached(isAsk ? 'begun' : 'stored')
      },
    },
  })
  await approvals.request({ ...OF_TWO, key })
}
