import { Option } from 'commander'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { type Config, readConfig, type SettingFlags } from '@bonded/server/settings/config'

/** `--origin`, for a command that calls a running service. */
export function originOption(): Option {
  return new Option('--origin <origin>', 'Origin of the service').default(
    undefined,
    'the configured public origin',
  )
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
