import { Command } from 'commander'
import { VERSION } from '../version.ts'
import { addSettingFlags } from './setting-flags.ts'

/** Loaded when asked for: the service does not wait for the phone, nor a key for the service. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./dev.ts')).devCommand(),
  serve: async () => (await import('./serve.ts')).serveCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  config: async () => (await import('./config.ts')).configCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  tenant: async () => (await import('./tenant.ts')).tenantCommand(),
  key: async () => (await import('./key.ts')).keyCommand(),
  device: async () => (await import('./device.ts')).deviceCommand(),
  session: async () => (await import('./session.ts')).sessionCommand(),
  phone: async () => (await import('./phone.ts')).phoneCommand(),
  completion: async () => (await import('./completion.ts')).completionCommand(),
}
/** It tells of all the others. */
const NEEDS_ALL = 'completion'

/**
 * The tree of all commands, or of the one that is asked for. What is made from it (help, completion, the reference)
 * cannot say anything else.
 */
export async function bondedProgram(asked = ''): Promise<Command> {
  const program = new Command('bonded')
    .description(
      'Gates one high-risk action in a browser behind proof from the person’s own phone.',
    )
    .version(VERSION)
    .configureHelp({ showGlobalOptions: true })
  // Help and a typing error need them all.
  for (const name of Object.hasOwn(COMMANDS, asked) && asked !== NEEDS_ALL
    ? [asked]
    : Object.keys(COMMANDS)) {
    const command = await COMMANDS[name]?.()
    if (command !== undefined) program.addCommand(command)
  }
  addSettingFlags(program)
  inheritExit(program)
  return program
}

/** commander ends the process itself unless every command is told not to. */
function inheritExit(command: Command): void {
  command.exitOverride().showHelpAfterError('(--help shows how to use it)')
  for (const child of command.commands) inheritExit(child)
}
