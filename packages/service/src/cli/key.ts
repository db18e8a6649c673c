import { Command, InvalidArgumentError, Option } from 'commander'
import type { Scope } from '../domain/tenant.ts'
import { issueKey, listKeys, revokeKey } from '../operations/admin/tenants.ts'
import { rollKey } from '../operations/admin/roll-key.ts'
import type { KeyListing } from '../ports/store.ts'
import { graceMsOf } from './grace.ts'
import { type Options, print, withService } from './open.ts'
import { tenantIdOf } from './tenant-id.ts'

/** A day, so that every deployment of the customer comes by. */
const DEFAULT_GRACE_MS = graceMsOf('24h')

type Entry = NonNullable<Scope>[number]

/** `bonded key`: the keys of a tenant. */
export function keyCommand(): Command {
  const command = new Command('key').description('The keys of a tenant.')
  command
    .command('issue')
    .description('Issues a key. A server credential is shown this once.')
    .requiredOption('--tenant <tenant>', 'whose key')
    .addOption(new Option('--kind <kind>').choices(['server', 'publishable']).makeOptionMandatory())
    .option(
      '--workflow <name[:action]>',
      'what it may be used for; may be repeated; without it, everything',
      collectScope,
      [],
    )
    .option('--json', 'print JSON')
    .action(
      async (
        options: Options & {
          tenant: string
          kind: 'server' | 'publishable'
          workflow: readonly Entry[]
        },
      ) => {
        const wanted = {
          tenantId: tenantIdOf(options.tenant),
          kind: options.kind,
          scope: options.workflow.length === 0 ? null : options.workflow,
        }
        const { key, secret } = await withService(options, (service) => issueKey(service, wanted))
        const document = {
          kind: options.kind,
          key,
          [options.kind === 'server' ? 'server_credential' : 'publishable_key']: secret.reveal(),
        }
        print(options, document, [
          secret.reveal(),
          ...(options.kind === 'server' ? ['It is not shown again.'] : []),
        ])
      },
    )
  command
    .command('revoke <key>')
    .description('Revokes a server credential (by its key id) or a publishable key.')
    .option('--json', 'print JSON')
    .action(async (key: string, options: Options) => {
      const id = keyIdOf(key)
      await withService(options, (service) => revokeKey(service, id))
      print(options, { revoked: id }, [`revoked ${id}`])
    })
  command
    .command('roll <key>')
    .description(
      'Makes a new key in place of an old one, which works until the grace period is over.',
    )
    .option('--grace <time>', 'how long both work: 90s, 30m, 24h, 7d', graceMsOf, DEFAULT_GRACE_MS)
    .option('--json', 'print JSON')
    .action(async (key: string, options: Options & { grace: number }) => {
      const replaced = keyIdOf(key)
      const rolled = await withService(options, (service) =>
        rollKey(service, { key: replaced, graceMs: options.grace }),
      )
      const endsAt = new Date(rolled.endsAt).toISOString()
      const shown = {
        [rolled.kind === 'server' ? 'server_credential' : 'publishable_key']:
          rolled.secret.reveal(),
      }
      print(
        options,
        {
          kind: rolled.kind,
          key: rolled.key,
          ...shown,
          replaces: replaced,
          replaced_works_until: endsAt,
        },
        [
          rolled.secret.reveal(),
          ...(rolled.kind === 'server' ? ['It is not shown again.'] : []),
          `${replaced} works until ${endsAt}.`,
        ],
      )
    })
  command
    .command('list')
    .description('Lists the keys of a tenant.')
    .requiredOption('--tenant <tenant>', 'whose keys')
    .option('--json', 'print JSON')
    .action(async (options: Options & { tenant: string }) => {
      const keys = await withService(options, (service) =>
        listKeys(service, tenantIdOf(options.tenant)),
      )
      print(
        options,
        keys.map(describeKey),
        keys.map(
          (listed) =>
            `${listed.kind.padEnd(11)}  ${listed.key}  …${listed.last4}${tellEnd(listed)}`,
        ),
      )
    })
  return command
}

/** When a key ends or ended, if it does. */
export function tellEnd({ revokedAt }: KeyListing): string {
  if (revokedAt === null) return ''
  return `  ${revokedAt > Date.now() ? 'works until' : 'revoked'} ${new Date(revokedAt).toISOString()}`
}

/** A whole credential is taken too: it is what is at hand when one has leaked. */
function keyIdOf(text: string): string {
  return /^sk_beta_([0-9A-Za-z]{10})_/.exec(text)?.[1] ?? text
}

/** A key as JSON tells it. */
export function describeKey({ kind, key, last4, createdAt, revokedAt }: KeyListing) {
  const at = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString())
  return { kind, key, last4, created_at: at(createdAt), revoked_at: at(revokedAt) }
}

function collectScope(text: string, earlier: readonly Entry[]): readonly Entry[] {
  const [workflow = '', action, ...rest] = text.split(':')
  if (workflow === '' || action === '' || rest.length > 0)
    throw new InvalidArgumentError('Expected workflow or workflow:action.')
  const same = earlier.find((entry) => entry.workflow === workflow)
  const actions =
    action === undefined || same?.actions === null ? null : [...(same?.actions ?? []), action]
  return [...earlier.filter((entry) => entry !== same), { workflow, actions }]
}
