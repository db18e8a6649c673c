import { Argument, Command } from 'commander'
import { bashCompletion, fishCompletion, zshCompletion } from './completion-scripts.ts'
import { jsonOption } from './arguments.ts'
import type { Options } from './open.ts'
import { print } from './output.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** The words that can follow at one place of the command line. */
export interface Place {
  /** The commands before it, as typed. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly (Word & {
    readonly values: readonly string[]
    readonly takesValue: boolean
  })[]
}

interface Word {
  readonly word: string
  readonly means: string
}

/** `bonded completion`: a script for a shell, generated from the command tree. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a shell completion script: source <(bonded completion bash)')
    .addArgument(new Argument('<shell>', 'Shell to complete for').choices(Object.keys(SCRIPTS)))
    .addOption(jsonOption())
    .action((shell: keyof typeof SCRIPTS, options: Options, command: Command) => {
      const root = command.parent
      if (root === null) throw new Error('the completion command has no parent')
      const script = SCRIPTS[shell](placesOf(root))
      print(options, { shell, script }, script.split('\n'))
    })
}

/** Every place of the tree, the root first. */
function placesOf(command: Command, before: readonly string[] = []): readonly Place[] {
  const commands = command.commands.map((child) => ({
    word: child.name(),
    means: child.description(),
  }))
  const options = command.options.flatMap(
    ({ long, hidden, description, argChoices, required, optional }) =>
      long && !hidden
        ? [
            {
              word: long,
              means: description,
              values: argChoices ?? [],
              takesValue: required || optional,
            },
          ]
        : [],
  )
  const choices = command.registeredArguments
    .flatMap(({ argChoices }) => argChoices ?? [])
    .map((word) => ({ word, means: '' }))
  return [
    { path: before.join(' '), commands: [...commands, ...choices], options },
    ...command.commands.flatMap((child) => placesOf(child, [...before, child.name()])),
  ]
}
