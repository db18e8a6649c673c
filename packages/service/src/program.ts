import { type CommandPart, commandTree, OPERATOR_COMMANDS } from '@bonded/cli/program'
import type { Command } from 'commander'

/** An optional package, which a production image lacks, so its name is not resolved here. */
const SANDBOX: string = '@bonded/sandbox'
const SANDBOX_COMMANDS = ['clock', 'dev', 'init', 'listen', 'open', 'phone', 'prove', 'trigger']

/**
 * The commands of `bonded` that are installed: the operator's, and the sandbox's.
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
  const sandbox = await loadSandbox(name)
  const commands = { ...OPERATOR_COMMANDS, ...sandbox?.COMMANDS }
  const program = await commandTree(commands, { name, isSilent })
  if (sandbox === undefined && SANDBOX_COMMANDS.includes(name))
    program.error(`error: bonded ${name} needs the package ${SANDBOX}, which is not installed`)
  return program
}

/** Undefined if it is not installed, or not needed: `name` is a command of the operator. */
export async function loadSandbox(name = ''): Promise<CommandPart | undefined> {
  if (Object.hasOwn(OPERATOR_COMMANDS, name)) return undefined
  try {
    return (await import(SANDBOX)) as CommandPart
  } catch (failure) {
    if (isMissing(failure)) return undefined
    throw failure
  }
}

function isMissing(failure: unknown): boolean {
  return (
    failure instanceof Error &&
    'code' in failure &&
    failure.code === 'ERR_MODULE_NOT_FOUND' &&
    failure.message.includes(`'${SANDBOX}'`)
  )
}
