import { readFileSync } from 'node:fs'
import { Workflow } from '@bonded/contract'
import { Command, InvalidArgumentError, Option } from 'commander'
import { Compile } from 'typebox/compile'
import {
  formatLimits,
  LIMITS_SYNTAX,
  parseLimits,
  type SomeLimits,
  TENANT_LIMITS,
} from '../domain/limits.ts'
import type { Tenant } from '../domain/tenant.ts'
import {
  createTenant,
  findTenant,
  limitTenant,
  listKeys,
  listTenants,
  OperatorError,
} from '../operations/admin/tenants.ts'
import { describeKey, tellEnd } from './key.ts'
import { type Options, print, withService } from './open.ts'
import { tenantIdOf } from './tenant-id.ts'

const workflowSchema = Compile(Workflow)

interface CreateOptions extends Options {
  readonly name: string
  readonly environment: Tenant['environment']
  readonly origin: readonly string[]
  readonly workflow: readonly Workflow[]
  readonly workflowFile?: string
  readonly limit: SomeLimits
  readonly demo?: boolean
}

/** `bonded tenant`: the customers of the service. */
export function tenantCommand(): Command {
  const command = new Command('tenant').description('The customers of the service.')
  command
    .command('create')
    .description('Creates a tenant and shows its keys, the server credential this once.')
    .requiredOption('--name <name>', 'as the phone shows it')
    .addOption(
      new Option('--environment <environment>')
        .choices(['sandbox', 'production'])
        .makeOptionMandatory(),
    )
    .option('--origin <url...>', 'an origin of its pages', [])
    .option(
      '--workflow <name:action[,action…][:passport=…]>',
      'a workflow and its actions; may be repeated',
      collectWorkflow,
      [],
    )
    .option('--workflow-file <file>', 'a JSON list of workflows with their policies')
    .option('--limit <name=quota[/burst]>', LIMIT_HELP, collectLimit, {})
    .option('--demo', 'allow localhost origins; sandbox only')
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions) => {
      const fromFile = options.workflowFile === undefined ? [] : readWorkflows(options.workflowFile)
      const { name, environment, origin: origins } = options
      const wanted = {
        name,
        environment,
        origins,
        workflows: [...options.workflow, ...fromFile],
        limits: options.limit,
        demo: options.demo === true,
      }
      const { tenant, publishableKey, serverCredential } = await withService(options, (service) =>
        createTenant(service, wanted),
      )
      const document = {
        tenant_id: tenant.id,
        publishable_key: publishableKey,
        server_credential: serverCredential.reveal(),
      }
      print(options, document, [
        `tenant             ${document.tenant_id}`,
        `publishable key    ${document.publishable_key}`,
        `server credential  ${document.server_credential}`,
        'Keep the server credential in your backend’s secret store. It is not shown again.',
      ])
    })
  command
    .command('list')
    .description('Lists the tenants.')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      const tenants = await withService(options, listTenants)
      print(
        options,
        tenants.map(describe),
        tenants.length === 0
          ? ['No tenants yet.']
          : tenants.map(({ id, environment, name }) => `${id}  ${environment.padEnd(10)}  ${name}`),
      )
    })
  command
    .command('show <tenant>')
    .description('Shows a tenant, its workflows and its keys.')
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const { tenant, keys } = await withService(options, async (service) => {
        const tenantId = tenantIdOf(id)
        return {
          tenant: await findTenant(service, tenantId),
          keys: await listKeys(service, tenantId),
        }
      })
      const listed = keys.map(describeKey)
      print(options, { ...describe(tenant), keys: listed }, [
        `${tenant.name} (${tenant.id}), ${tenant.environment}${tenant.demo ? ', demo' : ''}`,
        ...tenant.origins.map((origin) => `origin    ${origin}`),
        ...tenant.workflows.map(({ name, actions }) => `workflow  ${name}: ${actions.join(', ')}`),
        ...(tenant.limits ? [`limits    ${formatLimits(tenant.limits)}`] : []),
        ...keys.map((key) => `key       ${key.kind} ${key.key} …${key.last4}${tellEnd(key)}`),
      ])
    })
  command
    .command('limits <id>')
    .description(
      'Gives a tenant limits of its own, in the place of those it had; without any, the service’s.',
    )
    .option('--limit <name=quota[/burst]>', LIMIT_HELP, collectLimit, {})
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options & { limit: SomeLimits }) => {
      const { limit } = options
      const tenantId = tenantIdOf(id)
      await withService(options, (service) => limitTenant(service, tenantId, limit))
      const limits = formatLimits(limit)
      print(options, { tenant_id: tenantId, limits }, [
        limits === '' ? 'The limits of the service.' : limits,
      ])
    })
  return command
}

const LIMIT_HELP = `a limit of its own (${TENANT_LIMITS.join(', ')}), quota a minute; may be repeated`

function collectLimit(text: string, earlier: SomeLimits): SomeLimits {
  const limits = parseLimits(text)
  if (limits === undefined) throw new InvalidArgumentError(`Expected ${LIMITS_SYNTAX}.`)
  return { ...earlier, ...limits }
}

function describe({ id, name, environment, demo, origins, workflows, limits = {} }: Tenant) {
  return {
    tenant_id: id,
    name,
    environment,
    demo,
    origins,
    workflows,
    limits: formatLimits(limits),
  }
}

function collectWorkflow(text: string, earlier: readonly Workflow[]): readonly Workflow[] {
  const [name = '', actions = '', ...settings] = text.split(':')
  const passport = settings.map(
    (setting) => /^passport=(none|optional|required)$/.exec(setting)?.[1],
  )
  const workflow = {
    name,
    actions: actions.split(','),
    ...(passport[0] === undefined ? {} : { passport: passport[0] }),
  }
  if (settings.length > 1 || passport.includes(undefined) || !workflowSchema.Check(workflow)) {
    throw new InvalidArgumentError(
      'Expected name:action[,action…][:passport=required|optional|none] in lower case.',
    )
  }
  return [...earlier, workflow]
}

function readWorkflows(file: string): readonly Workflow[] {
  let list: unknown
  try {
    list = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new OperatorError(`${file} is not a JSON file`, { cause })
  }
  if (!Array.isArray(list)) throw new OperatorError(`${file} is not a JSON list of workflows`)
  return list.map((entry: unknown, at) => {
    if (workflowSchema.Check(entry)) return entry
    const [first] = workflowSchema.Errors(entry)
    throw new OperatorError(
      `${file}: workflow ${at + 1}${first ? `: ${first.instancePath} ${first.message}` : ' is not a workflow'}`,
    )
  })
}
