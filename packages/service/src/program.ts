import { type CommandPart, commandTree, OPERATOR_COMMANDS } from '@bonded/cli/program/program'
import type { Command } from 'commander'

/** Optional packages, which an installation may lack, so their names are not resolved here. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  '@bonded/ciba': ['ciba'],
  '@bonded/console': ['console'],
  '@bonded/sandbox': ['clock', 'dev', 'init', 'listen', 'open', 'phone', 'trigger', 'try'],
}

/**
 * The commands of `bonded` that are installed: the operator's, and those of optional packages.
 *
 * @param name of one command, to load only that one
 * @param isSilent whether a usage error is thrown without printing it
 * @throws {CommanderError} if the command is in a package that is not installed
 */
export async function bondedProgram({
  name = '',
  isSilent = false,
}: {
  readonly name?: string | undefined
  readonly isSilent?: boolean
} = {}): Promise<Command> {
  const parts = await loadParts(name)
  const commands = Object.assign({}, OPERATOR_COMMANDS, ...parts.map(({ COMMANDS }) => COMMANDS))
  const program = await commandTree(commands, { name, isSilent })
  const owner = ownerOf(name)
  if (owner !== undefined && parts.length === 0)
    program.error(`error: bonded ${name} needs the package ${owner}, which is not installed`)
  return program
}

/** The installed packages that are needed: none if `name` is a command of the operator. */
export async function loadParts(name = ''): Promise<readonly CommandPart[]> {
  if (Object.hasOwn(OPERATOR_COMMANDS, name)) return []
  const owner = ownerOf(name)
  const wanted = owner === undefined ? Object.keys(PARTS) : [owner]
  const loaded = await Promise.all(wanted.map(loadPart))
  return loaded.filter((part) => part !== undefined)
}

function ownerOf(name: string): string | undefined {
  return Object.keys(PARTS).find((part) => PARTS[part]?.includes(name))
}

/** Undefined if it is not installed. */
async function loadPart(part: string): Promise<CommandPart | undefined> {
  try {
    return (await import(part)) as CommandPart
  } catch (failure) {
    if (isMissing(failure, part)) return undefined
    throw failure
  }
}

function isMissing(failure: unknown, part: string): boolean {
  return (
    failure instanceof Error &&
    'code' in failure &&
    failure.code === 'ERR_MODULE_NOT_FOUND' &&
    failure.message.includes(`'${part}'`)
  )
}
