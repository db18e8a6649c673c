import type { TenantId } from '@bonded/contract'
import { removeTenant } from '@bonded/core/operations/admin/remove-tenant'
import { resumeTenant, suspendTenant } from '@bonded/core/operations/admin/suspend-tenant'
import { Command } from 'commander'
import { tenantArgument } from '../program/arguments.ts'
import { type Options, withService } from '../program/open.ts'
import { isoTime, print } from '../program/output.ts'

/** `bonded tenant suspend`. */
export function tenantSuspendCommand(): Command {
  return new Command('suspend')
    .description(
      'Let a tenant ask for no approvals: its sessions that are not bonded end; what is bonded completes',
    )
    .addArgument(tenantArgument())
    .action((id: TenantId, options: Options) => change(id, options, suspendTenant))
}

/** `bonded tenant resume`. */
export function tenantResumeCommand(): Command {
  return new Command('resume')
    .description('End the suspension of a tenant; the sessions that it ended stay so')
    .addArgument(tenantArgument())
    .action((id: TenantId, options: Options) => change(id, options, resumeTenant))
}

/** `bonded tenant remove`. */
export function tenantRemoveCommand(): Command {
  return new Command('remove')
    .description('Delete a suspended tenant and all of its rows; phones and the audit log stay')
    .addArgument(tenantArgument())
    .option('--name <name>', 'The name of the tenant, typed to confirm')
    .action(async (id: TenantId, options: Options & { readonly name?: string }) => {
      await withService(options, (service) => removeTenant(service, id, options.name))
      print(options, { removed: id }, [
        `Removed ${id}.`,
        'Deleted rows leave remains in the files of the database. Run: bonded vacuum',
        'Backups and WAL archives from before still have the tenant.',
      ])
    })
}

async function change(id: TenantId, options: Options, act: typeof suspendTenant): Promise<void> {
  const { tenant, changed, ended } = await withService(options, (service) => act(service, id))
  const suspended_at = isoTime(tenant.suspendedAt ?? null)
  const state =
    suspended_at === null
      ? `${id} is ${changed ? 'no longer' : 'not'} suspended.`
      : `${id} ${changed ? 'is' : 'was already'} suspended since ${suspended_at}. Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.`
  print(options, { tenant_id: id, suspended_at, changed, ended_sessions: ended }, [state])
}
