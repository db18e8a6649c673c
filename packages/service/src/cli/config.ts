import { Command } from 'commander'
import { parseRootKeys } from '../adapters/keys/root-keys.ts'
import { type ChosenSetting, chosenSettings, readConfig } from '../config.ts'
import { type Options, print } from './open.ts'

/** `bonded config`: what the service would run with. */
export function configCommand(): Command {
  const command = new Command('config').description('What the service would run with.')
  command
    .command('check')
    .description('Tells everything that is wrong with the configuration, and changes nothing.')
    .option('--json', 'print JSON')
    .action((options: Options) => {
      const { rootKeys, environment, publicOrigin, databaseFile } = readConfig(process.env, options)
      if (rootKeys !== undefined) parseRootKeys(rootKeys)
      print(options, { ok: true, environment }, [
        `The configuration can be used: ${environment}, ${publicOrigin}, ${databaseFile}.`,
      ])
    })
  command
    .command('print')
    .description(
      'Prints every setting, and whether a flag, the environment, the file or the default gave it. No secret is shown.',
    )
    .option('--json', 'print JSON')
    .action((options: Options) => {
      const settings = chosenSettings(process.env, options).map((setting) => ({
        name: setting.name,
        value: shown(setting),
        source: setting.source,
      }))
      const [nameWidth, sourceWidth] = [
        widest(settings.map(({ name }) => name)),
        widest(settings.map(({ source }) => source)),
      ]
      print(
        options,
        settings,
        settings.map(
          ({ name, value, source }) =>
            `${name.padEnd(nameWidth)}  ${source.padEnd(sourceWidth)}  ${value}`,
        ),
      )
    })
  return command
}

/** A secret is never shown; of root keys their ids are, because those say whether a rotation has arrived. */
function shown({ name, value, source, secret }: ChosenSetting): string {
  if (!secret || source === 'default') return value
  if (name !== 'BONDED_ROOT_KEYS') return '(not shown)'
  try {
    return `${parseRootKeys(value)
      .map(({ id }) => id)
      .join(', ')} (keys not shown)`
  } catch {
    return '(not shown, and not usable: bonded config check says why)'
  }
}

function widest(words: readonly string[]): number {
  return Math.max(...words.map(({ length }) => length))
}
