import type { Argument, Command, HelpConfiguration, Option } from 'commander'
import { pathOf } from './audited.ts'
import { consequenceOf } from './consequences.ts'

/** How every command prints its help. Defaults are shown only where they have a text for people. */
export const HELP_FORMAT: HelpConfiguration = {
  commandDescription: (command) =>
    [command.description(), consequenceOf(pathOf(command))].filter(Boolean).join('\n\n'),
  optionDescription: describeOption,
  argumentDescription: describeArgument,
  subcommandTerm: (command) => [command.name(), ...argumentTerms(command)].join(' '),
}

/** An argument in one line: what it is and its values. */
export function describeArgument({ description, argChoices }: Argument): string {
  return withNotes(description, argChoices === undefined ? [] : [argChoices.join(', ')])
}

/** An option in one line: what it does, its values, its default. */
export function describeOption(option: Option): string {
  const { description, argChoices, defaultValueDescription, mandatory } = option
  return withNotes(description, [
    ...(mandatory ? ['required'] : []),
    ...(argChoices === undefined ? [] : [argChoices.join(', ')]),
    ...(defaultValueDescription === undefined ? [] : [`default: ${defaultValueDescription}`]),
  ])
}

/**
 * The arguments that print the help of the command that `words` name: `help tenant create` and
 * `tenant create --name x --help` are the same. Undefined where no help was requested. A path that
 * does not exist is returned as it is, so that commander rejects it.
 */
export function helpArguments(
  program: Command,
  words: readonly string[],
): readonly string[] | undefined {
  const firstOption = words.findIndex((word) => word.startsWith('-'))
  const leading = firstOption === -1 ? words : words.slice(0, firstOption)
  const byFlag = words.includes('--help') || words.includes('-h')
  if (!byFlag && !leading.includes('help')) return undefined
  const path: string[] = []
  let command = program
  for (const word of leading.filter((candidate) => candidate !== 'help')) {
    // Help ignores the arguments of the command.
    if (command.commands.length === 0) break
    const child = command.commands.find((candidate) => candidate.name() === word)
    path.push(word)
    if (child === undefined) return path
    command = child
  }
  return [...path, '--help']
}

/** The arguments of a command as its usage writes them, such as `<tenant>` or `[tenant]`. */
export function argumentTerms(command: Command): readonly string[] {
  return command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  )
}

function withNotes(description: string, notes: readonly string[]): string {
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`
}
