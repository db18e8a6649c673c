import type { TenantId } from '@bonded/contract'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Scope } from '@bonded/core/domain/tenant'
import { issueKey, listKeys, revokeKey } from '@bonded/core/operations/admin/keys'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { type RolledKey, rollKey, undoRoll } from '@bonded/core/operations/admin/roll-key'
import { findTenant } from '@bonded/core/operations/admin/tenants'
import type { KeyListing } from '@bonded/core/ports/tables/tenant-table'
import { tenantArgument } from '../program/arguments.ts'
import { describeKey } from './describe-tenant.ts'
import { parseDuration } from '../program/duration.ts'
import { type Options, withService } from '../program/open.ts'
import { fields, isoTime, print, printOnce, table } from '../program/output.ts'

/** Long enough for every deployment of the backend to pick up the new credential. */
const DEFAULT_GRACE = '24h'
/** One line of a terminal, and nothing that could hide or reorder text. */
export const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/

type Entry = NonNullable<Scope>[number]

interface IssueOptions extends Options {
  readonly kind: KeyListing['kind']
  readonly expires?: number
  readonly name?: string
  readonly workflow: readonly Entry[]
}

/** `bonded key`: server credentials and publishable keys. */
export function keyCommand(): Command {
  const command = new Command('key').description('Manage the keys of a tenant')
  command.addCommand(issueCommand())
  command.addCommand(rollCommand())
  command
    .command('revoke')
    .description('Revoke a key at once')
    .argument('<key>', KEY_HELP, keyIdOf)
    .action(async (id: string, options: Options) => {
      await withService(options, (service) => revokeKey(service, id))
      print(options, { revoked: id }, [`Revoked ${id}.`])
    })
  command
    .command('list')
    .description('List the keys of a tenant')
    .addArgument(tenantArgument())
    .action(async (id: TenantId, options: Options) => {
      const keys = await withService(options, async (service) => {
        await findTenant(service, id)
        return listKeys(service, id)
      })
      const rows = keys.map((key) => ({ ...describeKey(key), scope: formatScope(key.scope) }))
      const names = [
        'kind',
        'key',
        'name',
        'last4',
        'scope',
        'last_used_at',
        'expires_at',
        'revoked_at',
      ] as const
      print(options, keys.map(describeKey), table(names, rows, 'No keys.'))
    })
  return command
}

function issueCommand(): Command {
  return new Command('issue')
    .description('Issue a key; a server credential is shown once')
    .addArgument(tenantArgument())
    .addOption(
      new Option('--kind <kind>', 'Credential of the backend, or key of the web page')
        .choices(['server', 'publishable'])
        .makeOptionMandatory(),
    )
    .option('--name <name>', 'Name to recognize the key by, such as "production"', keyNameOf)
    .option('--expires <time>', 'Time after which a server credential ends: 90d', lifetimeOf)
    .option(
      '--workflow <name[:action]>',
      'Restrict the key to a workflow or action; repeatable',
      collectScope,
      [],
    )
    .action(async (tenantId: TenantId, options: IssueOptions) => {
      const { kind, name, workflow, expires } = options
      const scope = workflow.length === 0 ? null : workflow
      await withService(options, async (service) => {
        if (kind === 'publishable' && expires !== undefined)
          throw new OperatorError('A publishable key is public and does not expire', {
            code: 'invalid',
          })
        const given = { tenantId, kind, name, scope, lifetimeMs: expires }
        const { key, secret, expiresAt } = await issueKey(service, given)
        const shown = { [secretName(kind)]: secret.reveal() }
        const document = { kind, key, name: name ?? null, expires_at: isoTime(expiresAt), ...shown }
        await printOnce(
          () => print(options, document, [...fields(shown), ...onceOnly(kind)]),
          async () => {
            await revokeKey(service, key)
            return 'The new key is revoked, because it was not shown. Issue another one'
          },
        )
      })
    })
}

function rollCommand(): Command {
  return new Command('roll')
    .description('Replace a key; the old one works until the grace period ends')
    .argument('<key>', KEY_HELP, keyIdOf)
    .addOption(
      new Option('--grace <time>', 'Time during which both keys work: 90s, 30m, 24h, 7d or 0')
        .argParser(parseDuration)
        .default(parseDuration(DEFAULT_GRACE), '24 h'),
    )
    .action(async (replaces: string, options: Options & { grace: number }) => {
      await withService(options, async (service) => {
        const rolled = await rollKey(service, { key: replaces, graceMs: options.grace })
        await printOnce(
          () => printRolled(options, { replaces, ...rolled }),
          async () => {
            await undoRoll(service, { replaces, ...rolled })
            return `Nothing has changed: ${replaces} works as before. Roll it again`
          },
        )
      })
    })
}

function printRolled(
  options: Options & { grace: number },
  { kind, key, secret, endsAt, expiresAt, replaces }: RolledKey & { readonly replaces: string },
): void {
  const until = isoTime(endsAt)
  const shown = { [secretName(kind)]: secret.reveal() }
  const ends = { expires_at: isoTime(expiresAt), replaces, replaced_works_until: until }
  print(options, { kind, key, ...shown, ...ends }, [
    ...fields(shown),
    ...onceOnly(kind),
    options.grace === 0 ? `Revoked ${replaces}.` : `${replaces} works until ${until}.`,
  ])
}

const KEY_HELP = 'Key id of a server credential, or a publishable key'

function secretName(kind: KeyListing['kind']): string {
  return kind === 'server' ? 'server_credential' : 'publishable_key'
}

function onceOnly(kind: KeyListing['kind']): readonly string[] {
  return kind === 'server'
    ? ['Store it in the backend’s secret store now. It is not shown again.']
    : []
}

function formatScope(scope: Scope): string {
  if (scope === null) return 'all workflows'
  return scope
    .flatMap(
      ({ workflow, actions }) => actions?.map((action) => `${workflow}:${action}`) ?? workflow,
    )
    .join(' ')
}

/** A whole credential is accepted too: it is what the operator has at hand when one has leaked. */
export function keyIdOf(text: string): string {
  return /^sk_beta_([0-9A-Za-z]{10})_/.exec(text)?.[1] ?? text
}

function keyNameOf(text: string): string {
  if (!KEY_NAME.test(text))
    throw new InvalidArgumentError(
      'Expected up to 64 letters, digits, spaces, dots, dashes and underscores.',
    )
  return text
}

/** A credential is rotated once in two years at least. */
const MAX_LIFETIME_DAYS = 730

function lifetimeOf(text: string): number {
  const days = Number(/^(\d{1,4})d$/.exec(text)?.[1])
  if (!(days >= 1 && days <= MAX_LIFETIME_DAYS))
    throw new InvalidArgumentError(`Expected days such as 90d, at most ${MAX_LIFETIME_DAYS}d.`)
  return days * 86_400_000
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
