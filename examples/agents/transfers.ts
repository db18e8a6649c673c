import {
  type Approvals,
  type ApprovalsOptions,
  createApprovals,
  memoryApprovalStore,
} from '@bonded/integrator/approval'

interface Transfer {
  readonly to: string
  readonly cents: number
}

/** Keep the rows in your database: this store is lost with the process. */
export function transferApprovals(
  service: ApprovalsOptions<Transfer>['service'],
): Approvals<Transfer> {
  return createApprovals<Transfer>({
    service,
    store: memoryApprovalStore(),
    workflow: 'agent_payments',
    action: 'transfer',
    version: '1',
    describe: ({ to, cents }) => [
      { label: 'Amount', value: `€${(cents / 100).toFixed(2)}` },
      { label: 'To', value: to },
    ],
  })
}

/** Your sign-in knows the user: the model never names it. */
interface Payment {
  readonly approvals: Approvals<Transfer>
  readonly user: { readonly id: string; readonly subjectRef: string }
  readonly send: (transfer: Readonly<Transfer>, id: string) => Promise<string>
}

/** The tool: asks the user, waits for the answer, and sends once what the user has approved. */
export async function payApproved(
  { approvals, user, send }: Payment,
  args: Transfer,
  signal?: AbortSignal,
): Promise<string> {
  const owner = user.id
  const requester = { kind: 'agent', name: 'Invoice agent' } as const
  const { id } = await approvals.request({ owner, subjectRef: user.subjectRef, requester, args })
  // Here your program shows the user the address of the inbox.
  console.error(`Waiting for the approval of ${id}`)
  const status = await approvals.wait({ id, owner }, signal && { signal })
  if (status !== 'approved') return `Not sent: ${status}.`
  return approvals.execute({ id, owner, args }, (approved) => send(approved, id))
}

/** Where transfers are entered, once for each id. */
export interface Ledger {
  /** Enters it unless the id has an entry, and returns the entry of the id. */
  enter(id: string, entry: 'sent' | 'void'): Promise<'sent' | 'void'>
}

/**
 * Finds out about the transfers whose outcome is unknown. Call it at the start and every minute. A
 * process that only stood still can go on and send: its transfer is void then, and is refused.
 */
export async function reconcileTransfers(
  approvals: Approvals<Transfer>,
  ledger: Ledger,
): Promise<void> {
  await approvals.reconcile(async ({ id }) =>
    (await ledger.enter(id, 'void')) === 'void' ? 'failed' : 'done',
  )
}
