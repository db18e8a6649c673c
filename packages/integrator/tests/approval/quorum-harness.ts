import {
  type ApprovalStore,
  createApprovals,
  memoryApprovalStore,
} from '../../src/approval/approval.ts'
import { BASE_URL, SERVER_CREDENTIAL } from '../fake-service.ts'
import { movedClock } from '../harness.ts'
import { quorumService } from '../quorum-service.ts'
import { ACTION, AGENT, ARGS, counted, type Transfer } from './harness.ts'

export const ANN = { person: 'ann', ref: 'a'.repeat(43) }
export const BOB = { person: 'bob', ref: 'b'.repeat(43) }
export const CY = { person: 'cy', ref: 'c'.repeat(43) }
export const TEAM = [ANN, BOB, CY]

/** A request of an agent for Dora: two of three people must approve it. */
export const OF_TWO = {
  owner: 'agent-1',
  requester: AGENT,
  args: ARGS,
  people: TEAM,
  needed: 2,
  maker: 'dora' as string | null,
}

/** Approvals by two people, on a fake service and a clock that is moved. */
export function quorumOf({
  store = memoryApprovalStore(),
  clock = movedClock(),
  service = quorumService(() => clock.now()),
  minimum = 2,
}: {
  store?: ApprovalStore
  clock?: ReturnType<typeof movedClock>
  service?: ReturnType<typeof quorumService>
  /** Null for approvals by one user. */
  minimum?: number | null
} = {}) {
  const approvals = createApprovals<Transfer>({
    service: {
      baseUrl: BASE_URL,
      serverCredential: SERVER_CREDENTIAL,
      fetch: service.fetch,
      clock,
    },
    store,
    ...ACTION,
    ...(minimum !== null && { quorum: { minimum } }),
  })
  const ask = async (change: Partial<typeof OF_TWO> = {}) => {
    const { id } = await approvals.request({ ...OF_TWO, ...change })
    return { id, owner: OF_TWO.owner }
  }
  const approve = (id: string, ...people: readonly (typeof ANN)[]) => {
    for (const { ref } of people) service.bond(service.idOf(id, ref))
  }
  /** A request that two of the three have approved. */
  async function approved() {
    const ref = await ask()
    approve(ref.id, ANN, BOB)
    return ref
  }
  /** How an execution ends, and how often the action ran in it. */
  async function executed(ref: { readonly id: string; readonly owner: string }) {
    const { runs, run } = counted()
    const end = await approvals
      .execute({ ...ref, args: ARGS }, run)
      .catch(({ code, reasons = [] }) => [code, ...reasons].join(' '))
    return { end, runs: runs.length }
  }
  return { approvals, service, store, clock, ask, approve, approved, executed }
}
