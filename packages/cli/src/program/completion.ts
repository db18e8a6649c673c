import { Argument, Command, type Option } from 'commander'
import { bashCompletion, fishCompletion, zshCompletion } from './completion-scripts.ts'
import type { Options } from './open.ts'
import { print } from './output.ts'
import { isSettingFlag } from './setting-flags.ts'

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** What a value is: one of a list, a path, or text that a shell cannot know. */
export type Value = { readonly choices: readonly string[] } | 'file' | 'folder' | 'text'

/** The words that can follow at one place of the command line. */
export interface Place {
  /** The commands before it, as typed. */
  readonly path: string
  readonly commands: readonly Word[]
  /** The values of its arguments. */
  readonly values: readonly Value[]
  readonly options: readonly CompletedOption[]
  /** The settings, which a shell offers once a dash is typed. */
  readonly settings: readonly CompletedOption[]
}

interface Word {
  readonly word: string
  readonly means: string
}

/** An option, and its value if it takes one. */
export interface CompletedOption extends Word {
  readonly value: Value | undefined
}

/** `bonded completion`: a script for a shell, generated from the command tree. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a shell completion script: source <(bonded completion bash)')
    .addArgument(new Argument('<shell>', 'Shell to complete for').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS, options: Options, command: Command) => {
      const root = command.parent
      if (root === null) throw new Error('the completion command has no parent')
      const script = SCRIPTS[shell](placesOf(root))
      print(options, { shell, script }, script.split('\n'))
    })
}

/** The kinds of the values that help calls by these names. All others are text. */
const KINDS: Readonly<Record<string, Value>> = { file: 'file', folder: 'folder', payload: 'file' }

/** Every place of the tree, the root first. */
function placesOf(command: Command, before: readonly string[] = []): readonly Place[] {
  const commands = command.commands.map((child) => ({
    word: child.name(),
    means: child.description(),
  }))
  const place = {
    path: before.join(' '),
    commands,
    values: command.registeredArguments.map((argument) =>
      valueOf(argument.name(), argument.argChoices),
    ),
    options: command.options.filter((option) => !isSettingFlag(option)).flatMap(completed),
    settings: command.options.filter(isSettingFlag).flatMap(completed),
  }
  return [place, ...command.commands.flatMap((child) => placesOf(child, [...before, child.name()]))]
}

function completed(option: Option): readonly CompletedOption[] {
  const { long, description, flags, required, optional, argChoices } = option
  if (!long) return []
  const [, name = ''] = /[<[]([^>\].]+)/.exec(flags) ?? []
  const value = required || optional ? valueOf(name, argChoices) : undefined
  return [{ word: long, means: description, value }]
}

function valueOf(name: string, choices: readonly string[] | undefined): Value {
  return choices === undefined ? (KINDS[name] ?? 'text') : { choices }
}
