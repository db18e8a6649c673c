import { type Command, Option } from 'commander'
import type { SettingFlags } from '../config.ts'
import { SETTINGS } from '../settings.ts'

/** The help of these commands lists every setting. */
const LIST_ALL_SETTINGS = ['dev', 'serve', 'doctor', 'check', 'print']
/** The help of the other commands lists the settings that usually matter to them. */
const USUAL_SETTINGS: readonly (keyof SettingFlags)[] = [
  'BONDED_DATA_DIR',
  'BONDED_DATABASE_URL',
  'BONDED_CONFIG',
]
const READ_NO_SETTINGS = ['completion', 'durability']

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
  if (command.commands.length > 0 || READ_NO_SETTINGS.includes(command.name())) return
  const showsAll = LIST_ALL_SETTINGS.includes(command.name())
  const heading = showsAll
    ? 'Settings (a flag overrides the environment and the file):'
    : 'Settings (run "bonded config print" for all of them):'
  for (const flag of settingFlags()) {
    if (command.options.some(({ long }) => long === flag.long)) continue
    flag.helpGroup(heading).hideHelp(!showsAll && !USUAL_SETTINGS.includes(flag.setting))
    command.addOption(flag)
  }
}

function settingFlags(): readonly SettingFlag[] {
  const flags = SETTINGS.filter(({ secret }) => !secret).map(({ name, key, about, fallback }) => {
    const flag = new SettingFlag(name, { flags: `--${key.replaceAll('_', '-')} <value>`, about })
    flag.default(undefined, fallback)
    return flag
  })
  const config = { flags: '--config <file>', about: 'YAML file of settings' }
  return [...flags, new SettingFlag('BONDED_CONFIG', config)]
}
