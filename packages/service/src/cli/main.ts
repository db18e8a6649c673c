import { Command, CommanderError } from 'commander'
import { VERSION } from '../version.ts'
import { devCommand } from './dev.ts'
import { explain } from './explain.ts'
import { keyCommand } from './key.ts'
import { migrateCommand } from './migrate.ts'
import { phoneCommand } from './phone.ts'
import { serveCommand } from './serve.ts'
import { sessionCommand } from './session.ts'
import { tenantCommand } from './tenant.ts'

/** 0 done, 1 refused, 2 usage. */
const EXIT = { refused: 1, usage: 2 } as const

const program = new Command('bonded')
  .description('Gates one high-risk action in a browser behind proof from the person’s own phone.')
  .version(VERSION)
  .exitOverride()
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('(--help shows how to use it)')
for (const command of [devCommand, serveCommand, migrateCommand, tenantCommand, keyCommand, sessionCommand, phoneCommand])
  program.addCommand(command())
inheritExit(program)

try {
  await program.parseAsync()
} catch (failure) {
  if (failure instanceof CommanderError) process.exitCode = failure.exitCode === 0 ? 0 : EXIT.usage
  else {
    const { text, usage } = explain(failure)
    if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ error: text })}\n`)
    process.stderr.write(`${text}\n`)
    process.exitCode = usage ? EXIT.usage : EXIT.refused
  }
}

/** commander ends the process itself unless every command is told not to. */
function inheritExit(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride().showHelpAfterError('(--help shows how to use it)')
    inheritExit(child)
  }
}
