import { endWithParent } from '@bonded/cli/program/parent'
import { runCommand } from './run-command.ts'

// A closed reader (`| head`) or a log on a full disk must not end a running service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

if (process.env['npm_command'] !== undefined) endWithParent()

await runCommand(process.argv.slice(2))
