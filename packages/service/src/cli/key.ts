import { Command, InvalidArgumentError, Option } from 'commander'
import type { Scope } from '../domain/tenant.ts'
import { issueKey, listKeys, revokeKey } from '../operations/administer.ts'
import type { KeyListing } from '../ports/store.ts'
import { print, withService } from './open.ts'
import { tenantIdOf } from './tenant-id.ts'

type Entry = NonNullable<Scope>[number]

/** `bonded key`: the keys of a tenant. */
export function keyCommand(): Command {
  const command = new Command('key').description('The keys of a tenant.')
  command
    .command('issue')
    .description('Issues a key. A server credential is shown this once.')
    .requiredOption('--tenant <tenant>', 'whose key')
    .addOption(new Option('--kind <kind>').choices(['server', 'publishable']).makeOptionMandatory())
    .option('--workflow <name[:action]>', 'what it may be used for; may be repeated; without it, everything', collectScope, [])
    .option('--json', 'print JSON')
    .action(async (options: { tenant: string; kind: 'server' | 'publishable'; workflow: readonly Entry[]; json?: boolean }) => {
      const wanted = { tenantId: tenantIdOf(options.tenant), kind: options.kind, scope: options.workflow.length === 0 ? null : options.workflow }
      const { key, secret } = await withService((service) => issueKey(service, wanted))
      const document = { kind: options.kind, key, [options.kind === 'server' ? 'server_credential' : 'publishable_key']: secret.reveal() }
      print(options, document, [secret.reveal(), ...(options.kind === 'server' ? ['It is not shown again.'] : [])])
    })
  command
    .command('revoke <key>')
    .description('Revokes a server credential (by its key id) or a publishable key.')
    .option('--json', 'print JSON')
    .action(async (key: string, options: { json?: boolean }) => {
      // A whole credential is taken too: it is what is at hand when one has leaked.
      const id = /^sk_beta_([0-9A-Za-z]{10})_/.exec(key)?.[1] ?? key
      await withService((service) => revokeKey(service, id))
      print(options, { revoked: id }, [`revoked ${id}`])
    })
  command
    .command('list')
    .description('Lists the keys of a tenant.')
    .requiredOption('--tenant <tenant>', 'whose keys')
    .option('--json', 'print JSON')
    .action(async (options: { tenant: string; json?: boolean }) => {
      const keys = await withService((service) => listKeys(service, tenantIdOf(options.tenant)))
      print(
        options,
        keys.map(describeKey),
        keys.map(({ kind, key, last4, revokedAt }) => `${kind.padEnd(11)}  ${key}  …${last4}${revokedAt === null ? '' : '  revoked'}`),
      )
    })
  return command
}

/** A key as JSON tells it. */
export function describeKey({ kind, key, last4, createdAt, revokedAt }: KeyListing) {
  const at = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString())
  return { kind, key, last4, created_at: at(createdAt), revoked_at: at(revokedAt) }
}

function collectScope(text: string, earlier: readonly Entry[]): readonly Entry[] {
  const [workflow = '', action, ...rest] = text.split(':')
  if (workflow === '' || action === '' || rest.length > 0) throw new InvalidArgumentError('Expected workflow or workflow:action.')
  const same = earlier.find((entry) => entry.workflow === workflow)
  const actions = action === undefined || same?.actions === null ? null : [...(same?.actions ?? []), action]
  return [...earlier.filter((entry) => entry !== same), { workflow, actions }]
}
