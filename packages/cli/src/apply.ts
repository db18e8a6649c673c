import { readFileSync } from 'node:fs'
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
import { jsonOption } from './arguments.ts'
import { keyIdOf } from './key.ts'
import { type Options, withService } from './open.ts'
import { print, printOnce } from './output.ts'
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
    .addOption(jsonOption())
    .action(async (options: ApplyOptions) => {
      const text = readDocument(options.file)
      await withService(options, async (service) => {
        const { tenants, problems } = readTenants(text, service.settings)
        rejectProblems(options.file, problems)
        const allowSimilarName = options.allowSimilarName === true
        const wanted = tenants.map((tenant) => ({ ...tenant, allowSimilarName }))
        const plan = []
        for (const tenant of wanted) plan.push(await planTenant(service, tenant))
        const results = options.plan === true ? plan : await applyAll(service, wanted, plan)
        await printOnce(
          () => print(options, results.map(describe), results.flatMap(linesOf)),
          async () => {
            for (const { serverCredential } of results)
              if (serverCredential) await revokeKey(service, keyIdOf(serverCredential))
            return 'The tenants are applied. New server credentials are revoked, because they were not shown. Issue others: bonded key issue <tenant> --kind server'
          },
        )
      })
    })
}

async function applyAll(
  service: Service,
  wanted: readonly WantedTenant[],
  plan: readonly AppliedTenant[],
): Promise<readonly AppliedTenant[]> {
  const applied = []
  for (const [index, tenant] of wanted.entries()) {
    const changes = plan[index]?.differences.length !== 0
    const result = changes ? await applyTenant(service, tenant) : plan[index]
    // Also after an interruption: ends the sessions that are left.
    if (tenant.suspended === true && result) await finishSuspension(service, result.tenant.id)
    if (result) applied.push(result)
  }
  return applied
}

/** `bonded export`. */
export function exportCommand(): Command {
  return new Command('export')
    .description('Print all tenants as the file that bonded apply reads')
    .addOption(jsonOption())
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

function readDocument(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read`, { code: 'invalid', cause })
  }
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
