import { type Command, Help, Option } from 'commander'
import type { SettingFlags } from '@bonded/server/settings/config'
import { SETTINGS } from '@bonded/server/settings/settings'
import { describeOption } from './help.ts'

/** The help of this command lists the settings, so that no other help repeats them. */
const LISTS_SETTINGS = 'config'
const READ_NO_SETTINGS = ['completion', 'bonded approve', 'bonded try', 'ciba serve']

/** Stores the value under the setting's name, so that no other option can be mistaken for it. */
class SettingFlag extends Option {
  readonly setting: keyof SettingFlags

  constructor(setting: keyof SettingFlags, { flags, about }: { flags: string; about: string }) {
    super(flags, about)
    this.setting = setting
  }

  override attributeName(): string {
    return this.setting
  }
}

/** Whether the option is a setting, which has its own reference page. */
export function isSettingFlag(option: Option): boolean {
  return option instanceof SettingFlag
}

/**
 * Gives every command a flag for each setting: `--port` for `BONDED_PORT`. A secret has none,
 * because other accounts can read a command line. A setting whose name is an option of the command
 * has none either.
 */
export function addSettingFlags(command: Command): void {
  for (const child of command.commands) addSettingFlags(child)
  if (command.name() === LISTS_SETTINGS) command.addHelpText('after', listOfSettings)
  const names = [command.name(), `${command.parent?.name()} ${command.name()}`]
  if (command.commands.length > 0 || READ_NO_SETTINGS.some((name) => names.includes(name))) return
  for (const flag of settingFlags()) {
    if (command.options.some(({ long }) => long === flag.long)) continue
    command.addOption(flag.hideHelp())
  }
  command.addHelpText(
    'after',
    '\nSettings, such as --data-dir, are options too: "bonded help config" lists them.',
  )
}

function listOfSettings(): string {
  const flags = settingFlags()
  const width = Math.max(...flags.map(({ flags: { length } }) => length))
  const help = new Help()
  help.prepareContext({ helpWidth: process.stdout.columns ?? 100 })
  return [
    '\nSettings, as options of every command (an option overrides the environment and the file):',
    ...flags.map((flag) => help.formatItem(flag.flags, width, describeOption(flag), help)),
  ].join('\n')
}

function settingFlags(): readonly SettingFlag[] {
  const flags = SETTINGS.filter(({ secret }) => !secret).map(
    ({ name, key, about, fallback, path = 'value' }) => {
      const flag = new SettingFlag(name, {
        flags: `--${key.replaceAll('_', '-')} <${path}>`,
        about,
      })
      flag.default(undefined, fallback)
      return flag
    },
  )
  const config = { flags: '--config <file>', about: 'YAML file of settings' }
  return [...flags, new SettingFlag('BONDED_CONFIG', config)]
}
