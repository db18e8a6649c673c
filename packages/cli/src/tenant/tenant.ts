import type { TenantId, Workflow } from '@bonded/contract'
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  formatLimits,
  LIMITS_SYNTAX,
  parseLimits,
  type SomeLimits,
  TENANT_LIMITS,
} from '@bonded/core/domain/limits'
import type { Tenant } from '@bonded/core/domain/tenant'
import { listKeys, revokeKey } from '@bonded/core/operations/admin/keys'
import {
  createTenant,
  findTenant,
  limitTenant,
  listTenants,
  type TenantKeys,
} from '@bonded/core/operations/admin/tenants'
import { tenantArgument } from '../program/arguments.ts'
import { describeKey, describeTenant, integrationOf } from './describe-tenant.ts'
import { integrationPoints, pinnedScript } from './integration.ts'
import { keyIdOf } from './key.ts'
import { KEY_TABLE } from './key-table.ts'
import { type Options, withService } from '../program/open.ts'
import { fields, print, printOnce, table } from '../program/output.ts'
import {
  tenantRemoveCommand,
  tenantResumeCommand,
  tenantSuspendCommand,
} from './tenant-lifecycle.ts'
import {
  SESSION_ENDPOINT_HELP,
  SIMILAR_NAME_HELP,
  tenantUpdateCommand,
  warnSimilar,
} from './tenant-update.ts'
import { collectWorkflow, readWorkflows, WORKFLOW_SYNTAX } from './workflow-option.ts'

const KEY_COLUMNS = ['kind', 'key', 'name', 'last4', 'expires_at', 'revoked_at']

interface CreateOptions extends Options {
  readonly name: string
  readonly environment: Tenant['environment']
  readonly origin: readonly string[]
  readonly workflow: readonly Workflow[]
  readonly workflowFile?: string
  readonly sessionEndpoint?: string
  readonly limit: SomeLimits
  readonly demo?: boolean
  readonly allowSimilarName?: boolean
}

/** `bonded tenant`: the organizations that use the service. */
export function tenantCommand(): Command {
  const command = new Command('tenant').description('Manage tenants')
  command.addCommand(createCommand())
  command.addCommand(tenantUpdateCommand())
  command.addCommand(limitsCommand())
  command.addCommand(tenantSuspendCommand())
  command.addCommand(tenantResumeCommand())
  command.addCommand(tenantRemoveCommand())
  command
    .command('list')
    .description('List all tenants')
    .action(async (options: Options) => {
      const tenants = await withService(options, listTenants)
      const documents = tenants.map(describeTenant)
      const lines = table(
        ['tenant_id', 'environment', 'name', 'suspended_at'],
        documents,
        'No tenants.',
      )
      print(options, documents, lines)
    })
  command
    .command('show')
    .description('Show the configuration, keys and rate limits of a tenant')
    .addArgument(tenantArgument())
    .action(showTenant)
  return command
}

function createCommand(): Command {
  return new Command('create')
    .description('Create a tenant and its first keys; the server credential is shown once')
    .requiredOption('--name <name>', 'Name that the phone shows to the user')
    .addOption(
      new Option('--environment <environment>', 'Environment of the tenant')
        .choices(['sandbox', 'production'])
        .makeOptionMandatory(),
    )
    .option('--origin <origin...>', 'Origin of the tenant’s pages; repeatable', [])
    .option(
      `--workflow ${WORKFLOW_SYNTAX}`,
      'Workflow with its actions; repeatable',
      collectWorkflow,
      [],
    )
    .option('--workflow-file <file>', 'JSON list of workflows with their policies; - reads stdin')
    .option('--session-endpoint <url>', SESSION_ENDPOINT_HELP)
    .option('--limit <name=quota[/burst]>', LIMIT_HELP, collectLimit, {})
    .option('--demo', 'Allow localhost origins; sandbox only')
    .option('--allow-similar-name', SIMILAR_NAME_HELP)
    .action(async (options: CreateOptions) => {
      const { name, environment, origin: origins } = options
      const wanted = {
        name,
        environment,
        origins,
        workflows: [...options.workflow, ...readWorkflows(options.workflowFile)],
        limits: options.limit,
        sessionEndpoint: options.sessionEndpoint,
        demo: options.demo === true,
        allowSimilarName: options.allowSimilarName === true,
      }
      await withService(options, async (service) => {
        const origin = service.settings.publicOrigin
        const script = options.json === true ? {} : await pinnedScript(origin)
        const created = await createTenant(service, wanted)
        const { id } = created.tenant
        await printOnce(
          () => printCreated(options, { ...created, origin, script }),
          async () => {
            await revokeKey(service, keyIdOf(created.serverCredential.reveal()))
            return `The tenant ${id} is stored. Its server credential is revoked, because it was not shown. Issue another one: bonded key issue ${id} --kind server`
          },
        )
      })
    })
}

function printCreated(
  options: Options,
  {
    tenant,
    publishableKey,
    serverCredential,
    similarTenantId,
    origin,
    script,
  }: TenantKeys & { readonly origin: string; readonly script: object },
): void {
  const document = {
    tenant_id: tenant.id,
    publishable_key: publishableKey,
    server_credential: serverCredential.reveal(),
  }
  const integration = integrationPoints(tenant, origin)
  print(options, { ...document, similar_tenant_id: similarTenantId, ...integration }, [
    ...fields(document),
    '',
    ...warnSimilar(similarTenantId),
    'Store the server credential in the backend’s secret store now. It is not shown again.',
    '',
    'For the integrator',
    ...fields({ ...integration, ...script }),
    '',
    ...KEY_TABLE,
  ])
}

async function showTenant(id: TenantId, options: Options): Promise<void> {
  const { tenant, keys, publicOrigin } = await withService(options, async (service) => ({
    tenant: await findTenant(service, id),
    keys: await listKeys(service, id),
    publicOrigin: service.settings.publicOrigin,
  }))
  const described = describeTenant(tenant)
  const keyDocuments = keys.map(describeKey)
  const configuration = integrationOf(tenant, { keys, publicOrigin, now: Date.now() })
  const workflows = configuration.workflows
    .map(({ name, actions, passport }) => `${name}:${actions.join(',')}:passport=${passport}`)
    .join(' ')
  print(options, { ...described, keys: keyDocuments, configuration }, [
    ...fields({
      ...described,
      origins: tenant.origins.join(' ') || null,
      workflows: tenant.workflows.map(formatWorkflow).join(' '),
      limits: formatLimits(tenant.limits ?? {}) || 'service defaults',
      retention: formatRetention(tenant) || 'service defaults',
    }),
    '',
    'keys',
    ...table(KEY_COLUMNS, keyDocuments, 'No keys.'),
    '',
    'configuration, for the integrator',
    ...fields({
      ...configuration,
      allowedOrigins: configuration.allowedOrigins.join(' ') || null,
      workflows,
    }),
    `Your backend creates sessions at ${publicOrigin}/api/v1/sessions. Pulse.init takes sessionEndpoint, ` +
      'the address on your own backend that does so for your page.',
  ])
}

function limitsCommand(): Command {
  return new Command('limits')
    .description('Set a tenant’s rate limits. Omit --limit to restore the service defaults')
    .addArgument(tenantArgument())
    .option('--limit <name=quota[/burst]>', LIMIT_HELP, collectLimit, {})
    .action(async (id: TenantId, options: Options & { limit: SomeLimits }) => {
      const { limit } = options
      const tenant = await withService(options, async (service) => {
        await limitTenant(service, id, limit)
        return findTenant(service, id)
      })
      const { tenant_id, limits } = describeTenant(tenant)
      print(options, { tenant_id, limits }, [
        limits === null
          ? `Restored the service defaults for ${id}.`
          : `Set for ${id}: ${formatLimits(limit)}.`,
      ])
    })
}

const LIMIT_HELP = `Requests per minute and burst of ${TENANT_LIMITS.join(', ')}; repeatable`

/** All members of a workflow except its titles, those of a preset among them. */
function formatWorkflow({ name, actions, passport = 'none', ...rest }: Workflow): string {
  const { title: _, action_titles: _titles, quorum, ...others } = rest
  const floor = quorum && { quorum: quorum.needed }
  const settings = Object.entries({ passport, ...others, ...floor })
    .map(([member, value]) => `:${member}=${String(value)}`)
    .join('')
  return `${name}:${actions.join(',')}${settings}`
}

function formatRetention({ retention = {} }: Tenant): string {
  return Object.entries(retention)
    .map(([kind, days]) => `${kind}=${days}`)
    .join(',')
}

function collectLimit(text: string, earlier: SomeLimits): SomeLimits {
  const limits = parseLimits(text)
  if (limits === undefined) throw new InvalidArgumentError(`Expected ${LIMITS_SYNTAX}.`)
  return { ...earlier, ...limits }
}
