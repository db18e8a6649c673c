import { Argument, Command } from 'commander'
import { bashCompletion, fishCompletion, zshCompletion } from './completion-scripts.ts'
import { type Options, print } from './open.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** What can stand at one place of the command line. */
export interface Place {
  /** The commands before it, as they are typed. */
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

/** `bonded completion`: a script that teaches a shell every command and option, made from the tree itself. */
export function completionCommand(): Command {
  return new Command('completion')
    .description(
      'Prints a completion script: source <(bonded completion bash), or bonded completion fish | source.',
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SCRIPTS)))
    .option('--json', 'print JSON')
    .action((shell: keyof typeof SCRIPTS, options: Options, command: Command) => {
      const root = command.parent
      if (root === null) throw new Error('completion stands alone')
      const script = SCRIPTS[shell](placesOf(root))
      print(options, { shell, script }, [script])
    })
}

/** Every place of the tree, the root first. */
function placesOf(command: Command, before: readonly string[] = []): readonly Place[] {
  const commands = command.commands.map((child) => ({
    word: child.name(),
    means: child.description(),
  }))
  const options = command.options.flatMap(
    ({ long, description, argChoices, required, optional }) =>
      long
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
