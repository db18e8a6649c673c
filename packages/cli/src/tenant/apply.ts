import {
  type AppliedTenant,
  applyTenant,
  planTenant,
  type TenantDifference,
  type WantedTenant,
} from '@bonded/core/operations/admin/apply-tenant'
import { listKeys, revokeKey } from '@bonded/core/operations/admin/keys'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { finishSuspension } from '@bonded/core/operations/admin/suspend-tenant'
import { listTenants } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'
import { Command } from 'commander'
import { stringify } from 'yaml'
import { textOf } from '../program/given-file.ts'
import { keyIdOf } from './key.ts'
import { type Options, withService } from '../program/open.ts'
import { print, printOnce } from '../program/output.ts'
import { type DocumentProblem, readTenants, writeTenant } from './tenant-document.ts'
import { SIMILAR_NAME_HELP } from './tenant-update.ts'

interface ApplyOptions extends Options {
  readonly file: string
  readonly plan?: boolean
  readonly allowSimilarName?: boolean
}

/** `bonded apply`. */
export function applyCommand(): Command {
  return new Command('apply')
    .description(
      'Make tenants as a YAML file describes them, each in one transaction; other tenants stay as they are',
    )
    .requiredOption('-f, --file <file>', 'The file, as bonded export writes it; - reads stdin')
    .option('--plan', 'Only print what would change')
    .option('--allow-similar-name', SIMILAR_NAME_HELP)
    .action(async (options: ApplyOptions) => {
      const text = textOf(options.file)
      await withService(options, async (service) => {
        const { tenants, problems } = readTenants(text, service.settings)
        rejectProblems(options.file, problems)
        const allowSimilarName = options.allowSimilarName === true
        const wanted = tenants.map((tenant) => ({ ...tenant, allowSimilarName }))
        const plan = []
        for (const tenant of wanted) plan.push(await planTenant(service, tenant))
        const results: AppliedTenant[] = options.plan === true ? plan : []
        const show = () => print(options, results.map(describe), results.flatMap(linesOf))
        if (options.plan !== true) await applyAll(service, { wanted, plan, results })
        if (results.some(({ serverCredential }) => serverCredential !== undefined))
          await printOnce(show, () => revokeNew(service, results))
        else show()
      })
    })
}

/** Applies one tenant after another. The credentials of those before a rejected one end. */
async function applyAll(
  service: Service,
  of: {
    readonly wanted: readonly WantedTenant[]
    readonly plan: readonly AppliedTenant[]
    readonly results: AppliedTenant[]
  },
): Promise<void> {
  const { wanted, plan, results } = of
  try {
    for (const [index, tenant] of wanted.entries()) {
      const changes = plan[index]?.differences.length !== 0
      const result = changes ? await applyTenant(service, tenant) : plan[index]
      if (result) results.push(result)
      // Also after an interruption: ends the sessions that are left.
      if (tenant.suspended === true && result) await finishSuspension(service, result.tenant.id)
    }
  } catch (cause) {
    if (!(cause instanceof OperatorError) || results.length === 0) throw cause
    const { message, code } = cause
    throw new OperatorError(`${message}. ${await revokeNew(service, results)}`, { code, cause })
  }
}

/** @returns what an operator has to know and to do, because the credentials were not shown */
async function revokeNew(service: Service, results: readonly AppliedTenant[]): Promise<string> {
  const texts = [`Applied before: ${results.map(({ tenant }) => tenant.id).join(', ')}`]
  for (const { tenant, serverCredential } of results) {
    if (serverCredential === undefined) continue
    await revokeKey(service, keyIdOf(serverCredential))
    texts.push(
      `The new server credential was not shown, and is revoked. Issue another one: bonded key issue ${tenant.id} --kind server`,
    )
  }
  return texts.join('. ')
}

/** `bonded export`. */
export function exportCommand(): Command {
  return new Command('export')
    .description('Print all tenants as the file that bonded apply reads')
    .action(async (options: Options) => {
      const tenants = await withService(options, async (service) => {
        const { publicOrigin } = service.settings
        const now = service.clock.now()
        const written = []
        for (const tenant of await listTenants(service)) {
          const keys = await listKeys(service, tenant.id)
          written.push(writeTenant(tenant, { keys, publicOrigin, now }))
        }
        return written
      })
      const lines = stringify({ tenants }, { aliasDuplicateObjects: false, lineWidth: 0 })
      print(options, { tenants }, lines.trimEnd().split('\n'))
    })
}

function rejectProblems(file: string, problems: readonly DocumentProblem[]): void {
  if (problems.length === 0) return
  const lines = problems.map(
    ({ line, path, message }) => `${file}:${line}: ${path === '' ? '' : `${path}: `}${message}`,
  )
  throw new OperatorError(`Nothing was changed.\n${lines.join('\n')}`, { code: 'invalid' })
}

function describe({ tenant, isNew, differences, serverCredential }: AppliedTenant) {
  return {
    tenant_id: tenant.id,
    name: tenant.name,
    is_new: isNew,
    differences,
    ...(serverCredential === undefined ? {} : { server_credential: serverCredential }),
  }
}

function linesOf({ tenant, isNew, differences, serverCredential }: AppliedTenant): string[] {
  const state = isNew ? 'new' : differences.length === 0 ? 'unchanged' : 'changed'
  return [
    `${tenant.id}  ${tenant.name}: ${state}`,
    ...differences.map(({ member, from, to }: TenantDifference) =>
      isNew || from === null
        ? `  ${member}: ${JSON.stringify(to)}`
        : `  ${member}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`,
    ),
    ...(serverCredential === undefined
      ? []
      : [`  server credential, which is not shown again: ${serverCredential}`]),
  ]
}
