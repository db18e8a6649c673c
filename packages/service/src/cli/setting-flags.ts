import { type Command, Option } from 'commander'
import { SETTINGS, type SettingFlags } from '../config.ts'

/** A flag for a setting. Its value is kept under the setting's name, so that no other option can be mistaken for it. */
class SettingFlag extends Option {
  readonly #setting: keyof SettingFlags

  constructor(setting: keyof SettingFlags, { flags, expects }: { flags: string; expects: string }) {
    super(flags, expects)
    this.#setting = setting
    this.helpGroup('Settings (they beat the environment and the file):')
  }

  override attributeName(): string {
    return this.#setting
  }
}

/**
 * Gives every command of the tree a flag for each setting: `--port` for `BONDED_PORT`. A secret has none, because
 * a command line can be read by others; nor has a setting whose name the command uses for something else.
 */
export function addSettingFlags(command: Command): void {
  for (const child of command.commands) addSettingFlags(child)
  if (command.commands.length > 0 || READS_NO_SETTINGS.includes(command.name())) return
  const flags = SETTINGS.filter(({ secret }) => !secret).map(
    ({ name, key, expects }) =>
      new SettingFlag(name, { flags: `--${key.replaceAll('_', '-')} <value>`, expects }),
  )
  flags.push(
    new SettingFlag('BONDED_CONFIG', {
      flags: '--config <file>',
      expects: 'a YAML file of settings',
    }),
  )
  for (const flag of flags)
    if (!command.options.some(({ long }) => long === flag.long)) command.addOption(flag)
}

const READS_NO_SETTINGS = ['completion']
