import type { TenantId, Workflow } from '@bonded/contract'
import { Command, InvalidArgumentError } from 'commander'
import { RETENTION_KINDS, type SomeRetention } from '@bonded/core/domain/retention'
import { isRevoked, type Tenant } from '@bonded/core/domain/tenant'
import { listKeys } from '@bonded/core/operations/admin/keys'
import { warnOfSettings } from '@bonded/core/operations/admin/browser-proof'
import { listTenants } from '@bonded/core/operations/admin/tenants'
import { siteNameOf } from '@bonded/server/settings/relying-party'
import { setLogo } from '@bonded/core/operations/admin/tenant-logo'
import { updateTenant } from '@bonded/core/operations/admin/update-tenant'
import type { KeyListing } from '@bonded/core/ports/tables/tenant-table'
import { tenantArgument } from '../program/arguments.ts'
import { describeTenant } from './describe-tenant.ts'
import { readGiven } from '../program/given-file.ts'
import { type Options, withService } from '../program/open.ts'
import { print } from '../program/output.ts'
import { collectWorkflow, readWorkflows, WORKFLOW_SYNTAX } from './workflow-option.ts'

interface UpdateOptions extends Options {
  readonly name?: string
  readonly allowSimilarName?: boolean
  readonly logo?: string | false
  readonly sessionEndpoint?: string | false
  readonly retention?: SomeRetention
  readonly addOrigin: readonly string[]
  readonly removeOrigin: readonly string[]
  readonly addWorkflow: readonly Workflow[]
  readonly addWorkflowFile?: string
  readonly removeWorkflow: readonly string[]
}

export const SESSION_ENDPOINT_HELP =
  'Address on the tenant’s backend that creates a session for its page, as Pulse.init has it'
export const SIMILAR_NAME_HELP =
  'Allow a name that looks like that of another tenant. Warning: users cannot tell the two apart'

/** The warning about a name that the operator allowed although it looks like another one. */
export function warnSimilar(similarTenantId: TenantId | null): readonly string[] {
  if (similarTenantId === null) return []
  return [
    `Warning: the name looks like that of the tenant ${similarTenantId}. Users cannot tell the two apart.`,
  ]
}

const RETENTION_HELP = `Days that replace the service’s, or default; repeatable; kinds ${RETENTION_KINDS.join(', ')}`

/** `bonded tenant update`. */
export function tenantUpdateCommand(): Command {
  return new Command('update')
    .description(
      'Change a tenant’s name, logo, origins, workflows, session endpoint or retention; a running service applies it within a second',
    )
    .addArgument(tenantArgument())
    .option('--name <name>', 'Name that the phone shows to the user')
    .option('--allow-similar-name', SIMILAR_NAME_HELP)
    .option('--logo <file>', 'Logo that the widget shows: a PNG of at most 32 KiB; - reads stdin')
    .option('--no-logo', 'Remove the logo')
    .option('--session-endpoint <url>', SESSION_ENDPOINT_HELP)
    .option('--no-session-endpoint', 'Remove the session endpoint')
    .option('--retention <kind=days>', RETENTION_HELP, collectRetention)
    .option('--add-origin <origin>', 'Add an origin; repeatable', collect, [])
    .option('--remove-origin <origin>', 'Remove an origin; repeatable', collect, [])
    .option(
      `--add-workflow ${WORKFLOW_SYNTAX}`,
      'Add a workflow; repeatable. With --remove-workflow of the same name, replace it',
      collectWorkflow,
      [],
    )
    .option('--add-workflow-file <file>', 'Add the workflows of a JSON file; - reads stdin')
    .option('--remove-workflow <name>', 'Remove a workflow; repeatable', collect, [])
    .action(async (id: TenantId, options: UpdateOptions, command: Command) => {
      const change = {
        name: options.name,
        addOrigins: options.addOrigin,
        removeOrigins: options.removeOrigin,
        addWorkflows: [...options.addWorkflow, ...readWorkflows(options.addWorkflowFile)],
        removeWorkflows: options.removeWorkflow,
        sessionEndpoint: options.sessionEndpoint === false ? null : options.sessionEndpoint,
        retention: options.retention,
      }
      const { name = [], sessionEndpoint = [], retention = [], ...lists } = change
      const changes = [name, sessionEndpoint, retention, ...Object.values(lists)].flat()
      const logo = readLogoFile(options.logo)
      if (changes.length === 0 && logo === undefined)
        command.error('error: nothing to change: name at least one of the options')
      const allowSimilarName = options.allowSimilarName === true
      const { tenant, similarTenantId, keys, warnings } = await withService(
        options,
        async (service) => {
          if (logo !== undefined) await setLogo(service, id, logo)
          return {
            ...(await updateTenant(service, id, { ...change, allowSimilarName })),
            keys: await listKeys(service, id),
            warnings: warnOfSettings(service, await listTenants(service), siteNameOf),
          }
        },
      )
      const orphans = keysWithoutWorkflow(tenant, keys)
      print(
        options,
        {
          ...describeTenant(tenant),
          keys_without_workflow: orphans.map(({ key }) => key),
          similar_tenant_id: similarTenantId,
          warnings,
        },
        [
          `Updated ${id}.`,
          ...warnSimilar(similarTenantId),
          ...orphans.map(describeOrphan),
          ...warnings.map((warning) => `Warning: ${warning}.`),
        ],
      )
    })
}

/**
 * Keys that are restricted to a workflow the tenant does not have: the service rejects their use.
 */
function keysWithoutWorkflow(
  { workflows }: Tenant,
  keys: readonly KeyListing[],
): readonly KeyListing[] {
  const names = workflows.map(({ name }) => name)
  return keys.filter(
    (key) =>
      !isRevoked(key, Date.now()) && key.scope?.some(({ workflow }) => !names.includes(workflow)),
  )
}

function describeOrphan({ key, name }: KeyListing): string {
  return `Warning: key ${name ?? key} is restricted to a workflow that the tenant does not have. Revoke it with bonded key revoke ${key}.`
}

/** The file of `--logo`; null for `--no-logo`, and undefined without either. */
function readLogoFile(file: string | boolean | undefined): Uint8Array | null | undefined {
  if (typeof file !== 'string') return file === false ? null : undefined
  return readGiven(file)
}

function collectRetention(text: string, earlier: SomeRetention = {}): SomeRetention {
  const [, word, days = ''] = /^([a-z]+)=(\d{1,5}|default)$/.exec(text) ?? []
  const kind = RETENTION_KINDS.find((known) => known === word)
  if (kind === undefined)
    throw new InvalidArgumentError(`Expected ${RETENTION_KINDS.join(', ')}, and = with days.`)
  return { ...earlier, [kind]: days === 'default' ? undefined : Number(days) }
}

function collect(text: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, text]
}
