import {
  type ApprovalsOptions,
  type ApprovalStore,
  createApprovals,
  memoryApprovalStore,
} from '../../src/approval/approval.ts'
import { BASE_URL, fakeService, SERVER_CREDENTIAL } from '../fake-service.ts'
import { movedClock } from '../harness.ts'

export interface Transfer {
  readonly to: string
  readonly cents: number
}

export const ARGS: Transfer = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
export const AGENT = { kind: 'agent', name: 'Invoice agent' } as const
export const REQUEST = {
  owner: 'login-1',
  subjectRef: 's'.repeat(43),
  requester: AGENT,
  args: ARGS,
}

/** What is approved, but for its version. */
export const ACTION = {
  workflow: 'agent_payments',
  action: 'transfer',
  version: '1',
  describe: ({ to, cents }: Transfer) => [
    { label: 'Amount', value: `€${cents / 100}` },
    { label: 'To', value: to },
  ],
}

/** Approvals of a transfer, on a fake service and a clock that is moved. */
export function approvalsOf({
  store = memoryApprovalStore(),
  version = '1',
  clock = movedClock(),
  service = fakeService(() => clock.now()),
  ...words
}: {
  store?: ApprovalStore
  version?: string
  clock?: ReturnType<typeof movedClock>
  service?: ReturnType<typeof fakeService>
} & Partial<Pick<ApprovalsOptions<Transfer>, 'describe' | 'describeRepeat'>> = {}) {
  const approvals = createApprovals<Transfer>({
    service: {
      baseUrl: BASE_URL,
      serverCredential: SERVER_CREDENTIAL,
      fetch: service.fetch,
      clock,
    },
    store,
    ...ACTION,
    version,
    ...words,
  })
  /** A request that the user has approved. */
  async function approved(request = REQUEST) {
    const { id } = await approvals.request(request)
    service.bond(id)
    return { id, owner: request.owner }
  }
  return { approvals, service, store, clock, approved }
}

/** Runs an action that is counted. */
export function counted() {
  const runs: Transfer[] = []
  const run = async (transfer: Readonly<Transfer>) => {
    runs.push(transfer)
    return 'sent' as const
  }
  return { runs, run }
}
