import { isExactOrigin } from '@bonded/contract'
import { InvalidArgumentError, Option } from 'commander'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { listTenants } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'
import { type Config, readConfig, type SettingFlags } from '@bonded/server/settings/config'

/** `--origin`, for a command that calls a running service. */
export function originOption(): Option {
  return new Option('--origin <origin>', 'Origin of the service')
    .argParser(parseOrigin)
    .default(undefined, 'the configured public origin')
}

/** Accepts any spelling of an origin, such as one with a slash behind it. */
function parseOrigin(text: string): string {
  const url = URL.parse(text)
  // All other members of the URL must be empty.
  const isOrigin = url !== null && url.href === `${url.origin}/` && isExactOrigin(url.origin)
  if (!isOrigin || !['http:', 'https:'].includes(url.protocol))
    throw new InvalidArgumentError('Expected an origin such as https://bond.example.')
  return url.origin
}

/**
 * The configuration of a command that only a sandbox has.
 *
 * @throws {OperatorError} in production
 */
export function readSandboxConfig(command: string, options: SettingFlags): Config {
  const config = readConfig(process.env, options)
  if (config.environment === 'production')
    throw new OperatorError(`bonded ${command} needs a sandbox. Unset BONDED_ENVIRONMENT`, {
      code: 'invalid',
    })
  return config
}

/**
 * Rejects a database with a production tenant. A shell without `BONDED_ENVIRONMENT` can name the
 * database of a production service, and then a clock that is ahead ends its sessions.
 *
 * @throws {OperatorError} that names the tenant
 */
export async function rejectProductionTenants(service: Service): Promise<void> {
  const found = (await listTenants(service)).find(({ environment }) => environment === 'production')
  if (found !== undefined)
    throw new OperatorError(
      `The database has the production tenant ${found.id}, so it belongs to no sandbox. Name the database of a sandbox with BONDED_DATA_DIR or BONDED_DATABASE_URL`,
      { code: 'conflict' },
    )
}
