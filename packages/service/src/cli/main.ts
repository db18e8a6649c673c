import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { VERSION } from '../version.ts'

/** 0 done, 1 refused, 2 usage. */
const EXIT = { refused: 1, usage: 2 } as const

/** Loaded when asked for: the service does not wait for the phone, nor a key for the service. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import('./dev.ts')).devCommand(),
  serve: async () => (await import('./serve.ts')).serveCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  tenant: async () => (await import('./tenant.ts')).tenantCommand(),
  key: async () => (await import('./key.ts')).keyCommand(),
  session: async () => (await import('./session.ts')).sessionCommand(),
  phone: async () => (await import('./phone.ts')).phoneCommand(),
}

const program = new Command('bonded')
  .description('Gates one high-risk action in a browser behind proof from the person’s own phone.')
  .version(VERSION)
  .exitOverride()
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('(--help shows how to use it)')
keepCompiled()
const asked = process.argv[2] ?? ''
// Help and a typing error need them all.
for (const name of Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS)) {
  const command = await COMMANDS[name]?.()
  if (command !== undefined) program.addCommand(command)
}
inheritExit(program)

try {
  await program.parseAsync()
} catch (failure) {
  if (failure instanceof CommanderError) process.exitCode = failure.exitCode === 0 ? 0 : EXIT.usage
  else {
    const { explain } = await import('./explain.ts')
    const { text, usage } = explain(failure)
    if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ error: text })}\n`)
    process.stderr.write(`${text}\n`)
    process.exitCode = usage ? EXIT.usage : EXIT.refused
  }
}

/**
 * Keeps what the runtime made of our sources, types stripped and compiled, beside the packages they come from: whoever
 * can write there can change the code itself. Where it cannot be written, everything is only slower.
 */
function keepCompiled(): void {
  for (let folder = import.meta.dirname; dirname(folder) !== folder; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) return void enableCompileCache(join(modules, '.cache/bonded'))
  }
}

/** commander ends the process itself unless every command is told not to. */
function inheritExit(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride().showHelpAfterError('(--help shows how to use it)')
    inheritExit(child)
  }
}
