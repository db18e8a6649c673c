import {
  type Approvals,
  type ApprovalsOptions,
  createApprovals,
  memoryApprovalStore,
} from '@bonded/integrator/approval'
import { generateText, type LanguageModel, stepCountIs, tool } from 'ai'
import * as z from 'zod/v4'

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

/** An agent with one tool. `user` is of your sign-in: the model never names it. */
export async function runAgent(
  model: LanguageModel,
  prompt: string,
  approvals: Approvals<Transfer>,
  user: { readonly id: string; readonly subjectRef: string },
  send: (transfer: Readonly<Transfer>, id: string) => Promise<string>,
): Promise<string> {
  const transfer = tool({
    description: 'Transfers money. The user has to approve each transfer on the phone.',
    inputSchema: z.object({ to: z.string(), cents: z.int() }),
    async execute(args, { abortSignal }) {
      const owner = user.id
      const requester = { kind: 'agent', name: 'Invoice agent' } as const
      const { id } = await approvals.request({
        owner,
        subjectRef: user.subjectRef,
        requester,
        args,
      })
      const status = await approvals.wait({ id, owner }, abortSignal && { signal: abortSignal })
      if (status !== 'approved') return `Not sent: ${status}.`
      return approvals.execute({ id, owner, args }, (approved) => send(approved, id))
    },
  })
  const { text } = await generateText({
    model,
    prompt,
    tools: { transfer },
    stopWhen: stepCountIs(5),
  })
  return text
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
