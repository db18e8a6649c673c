import { Command } from 'commander'
import { VERSION } from '@bonded/server/version'
import { jsonOption } from './arguments.ts'
import { auditCommands, leavesOf } from './audited.ts'
import type { Explained } from './explain.ts'
import { HELP_FORMAT } from './help.ts'
import { write } from './output.ts'
import { addSettingFlags } from './setting-flags.ts'

/** Commands by name. Each is loaded when it is needed: `serve` does not wait for the others. */
export type Commands = Readonly<Record<string, () => Promise<Command>>>

/** What an operator runs. `completion` is not among them: its script names all other commands. */
export const OPERATOR_COMMANDS: Commands = {
  serve: async () => (await import('../node/serve.ts')).serveCommand(),
  doctor: async () => (await import('../node/doctor.ts')).doctorCommand(),
  config: async () => (await import('../node/config.ts')).configCommand(),
  migrate: async () => (await import('../database/migrate.ts')).migrateCommand(),
  backup: async () => (await import('../database/backup.ts')).backupCommand(),
  restore: async () => (await import('../database/restore.ts')).restoreCommand(),
  apply: async () => (await import('../tenant/apply.ts')).applyCommand(),
  export: async () => (await import('../tenant/apply.ts')).exportCommand(),
  vacuum: async () => (await import('../database/vacuum.ts')).vacuumCommand(),
  tenant: async () => (await import('../tenant/tenant.ts')).tenantCommand(),
  key: async () => (await import('../tenant/key.ts')).keyCommand(),
  session: async () => (await import('../user/session.ts')).sessionCommand(),
  device: async () => (await import('../user/device.ts')).deviceCommand(),
  subject: async () => (await import('../user/subject.ts')).subjectCommand(),
  stats: async () => (await import('../node/stats.ts')).statsCommand(),
  audit: async () => (await import('../audit/audit.ts')).auditCommand(),
  receipt: async () => (await import('../user/receipt.ts')).receiptCommand(),
  webhook: async () => (await import('../tenant/webhook.ts')).webhookCommand(),
  approve: async () => (await import('../agent/approve.ts')).approveCommand(),
}

/** A package that adds commands. */
export interface CommandPart {
  readonly COMMANDS: Commands
  /** Explains the failures of its commands, and all others as `explain.ts` does. */
  readonly explain: (failure: unknown) => Explained
}

const EPILOGUE = `
Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 not found, 4 try again later.
With --json, a command prints one JSON document. A failure is {"error":{"code","message"}} on stderr.

Run "bonded help <command>" for the options of a command, and "bonded help config" for the settings,
which are options of every command.`

/**
 * The tree of all commands, or of the one that is named. Help, completion and the reference page
 * are generated from this tree.
 *
 * @param name of one command, to load only that one
 * @param isSilent whether a usage error is thrown without printing it
 */
export async function commandTree(
  commands: Commands,
  { name = '', isSilent = false } = {},
): Promise<Command> {
  const program = new Command('bonded')
    .description('Protects a high-risk web action with proof from the user’s own phone.')
    .version(VERSION, '-V, --version', 'Print the version')
    .addHelpText('after', EPILOGUE)
  // Help and a mistyped command need them all.
  for (const wanted of Object.hasOwn(commands, name) ? [name] : Object.keys(commands)) {
    const command = await commands[wanted]?.()
    if (command !== undefined) program.addCommand(command)
  }
  if (!Object.hasOwn(commands, name))
    program.addCommand((await import('./completion.ts')).completionCommand())
  for (const { command } of leavesOf(program))
    if (!command.options.some(({ long }) => long === '--json')) command.addOption(jsonOption())
  auditCommands(program)
  addSettingFlags(program)
  return configured(program, isSilent)
}

/** Has a program print its help, and its usage errors, as `bonded` does. */
export function configured(program: Command, isSilent: boolean): Command {
  configure(program)
  if (isSilent) silence(program)
  return program
}

/** Keeps commander from printing a usage error and the help that belongs to it. */
function silence(command: Command): void {
  command.configureOutput({ writeErr: () => {} })
  for (const child of command.commands) silence(child)
}

/** Applies to the command and all below it; commander would end the process itself otherwise. */
function configure(command: Command, path = command.name()): void {
  command
    .exitOverride()
    .helpCommand(false)
    .helpOption('-h, --help', 'Show this help')
    .configureHelp(HELP_FORMAT)
    .configureOutput({ writeOut: write })
    .showHelpAfterError(`Run "${path} --help" for usage.`)
  if (command.commands.length > 0) command.usage('<command> [options]')
  for (const child of command.commands) configure(child, `${path} ${child.name()}`)
}
