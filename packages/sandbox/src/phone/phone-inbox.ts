import { type HandoffInput, inboxLink, PhoneError, type SimulatedPhone } from '@bonded/simulator'
import { Command } from 'commander'
import { print, table } from '@bonded/cli/program/output'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { originOption, readSandboxConfig } from '../sandbox-options.ts'
import type { PhoneOptions } from './phone-keys.ts'

type OpenPhone = (options: InboxOptions) => SimulatedPhone

interface InboxOptions extends PhoneOptions {
  readonly approve?: string
  readonly wait: boolean
}

/** `bonded phone inbox`: the requests that wait for the user of the simulated phone. */
export function inboxCommand(
  openPhone: OpenPhone,
  approve: (handoff: HandoffInput, options: InboxOptions) => Promise<void>,
): Command {
  return new Command('inbox')
    .description('List the requests that wait in the inbox of the simulated phone, or approve one')
    .option('--approve <session>', 'Show the request of this session and approve it')
    .addOption(originOption())
    .option('--no-wait', 'Exit without waiting for the backend to complete the session')
    .action(async (options: InboxOptions) => {
      const items = await listed(openPhone, options)
      if (options.approve === undefined) {
        const rows = items.map(({ session_id, tenant_name, requester, created_at }) => ({
          session_id,
          tenant_name,
          requester: requester?.name ?? null,
          created_at,
        }))
        const names = ['session_id', 'tenant_name', 'requester', 'created_at'] as const
        return print(options, rows, table(names, rows, 'No requests wait.'))
      }
      const item = items.find(({ session_id }) => session_id === options.approve)
      if (item === undefined)
        throw new OperatorError(`No request of ${options.approve} waits in the inbox`, {
          code: 'not_found',
        })
      await approve(inboxLink(item), options)
    })
}

/** Every page of the inbox. */
async function listed(openPhone: OpenPhone, options: InboxOptions) {
  const inbox = await openPhone(options).inbox()
  const page = await inbox.open().catch((failure: unknown) => {
    if (!(failure instanceof PhoneError) || failure.reason !== 'credential_missing') throw failure
    const { publicOrigin } = readSandboxConfig('phone', options)
    throw new OperatorError(
      `This phone is not registered at ${options.origin ?? publicOrigin}, so it has no inbox there. Approve a request on a page of this service first, with bonded phone approve`,
    )
  })
  const items = [...page.items]
  for (let { cursor } = page; cursor !== null; ) {
    const next = await inbox.open({ cursor })
    items.push(...next.items)
    cursor = next.cursor
  }
  return items
}
