import { Command } from 'commander'
import { parseRootKeys } from '@bonded/core/domain/root-keys'
import { type ChosenSetting, chosenSettings } from '@bonded/server/settings/config'
import type { Options } from '../program/open.ts'
import { print, table } from '../program/output.ts'
import { readServiceConfig } from '../program/service-config.ts'

/** `bonded config`: the settings that a service would run with. */
export function configCommand(): Command {
  const command = new Command('config').description('Check and print the configuration')
  command
    .command('check')
    .description('Check the configuration and report every mistake (read-only)')
    .action(async (options: Options) => {
      const config = await readServiceConfig(options)
      const { rootKeys, environment, publicOrigin } = config
      const database = config.postgres?.address.shown ?? config.databaseFile
      if (rootKeys.exists()) await rootKeys.load()
      print(options, { ok: true, environment }, [
        `The configuration is valid: ${environment}, ${publicOrigin}, ${database}.`,
      ])
    })
  command
    .command('print')
    .description(
      'Print every setting and its source: flag, environment, file or default; secrets are hidden',
    )
    .action((options: Options) => {
      const settings = chosenSettings(process.env, options).map((setting) => ({
        name: setting.name,
        value: shown(setting),
        source: setting.source,
      }))
      print(options, settings, table(['name', 'source', 'value'], settings, 'No settings.'))
    })
  return command
}

/**
 * Hides secrets. The ids of root keys are shown, because they tell whether a rotation has arrived.
 */
function shown({ name, value, source, secret }: ChosenSetting): string {
  if (!secret || source === 'default') return value
  if (name !== 'BONDED_ROOT_KEYS') return '(hidden)'
  try {
    return `${parseRootKeys(value)
      .map(({ id }) => id)
      .join(', ')} (keys hidden)`
  } catch {
    return '(hidden, and not valid: see bonded config check)'
  }
}
