import { jsonOption } from '@bonded/cli/program/arguments'
import { printLine } from '@bonded/cli/program/output'
import { openLog } from '@bonded/server/log'
import { Command, Option } from 'commander'
import { readConfig } from './config.ts'
import { serveCiba } from './server.ts'

/** The name in the guides, and in the examples of a backend. */
const CREDENTIAL = 'BONDED_SERVER_CREDENTIAL'

/** `bonded ciba`: approvals for clients that speak OpenID. */
export function cibaCommand(): Command {
  const command = new Command('ciba').description('Approvals for OpenID clients (CIBA)')
  command
    .command('serve')
    .description('Run an OpenID provider whose users approve on their phones')
    .addHelpText('after', `\nThe server credential of the tenant is in ${CREDENTIAL}.`)
    .addOption(new Option('--config <file>', 'Configuration (YAML)').makeOptionMandatory())
    .addOption(jsonOption('Print the ready message as JSON, and the log to stderr'))
    .action(async ({ config: file, json }: { config: string; json?: boolean }) => {
      const config = readConfig(file)
      const log = openLog('info', json === true ? 'stderr' : 'stdout')
      const running = await serveCiba(config, { credential: process.env[CREDENTIAL] ?? '', log })
      const ready = { ready: config.issuer, pid: process.pid, port: running.port }
      printLine({ json }, ready, [`ready: ${ready.ready} (pid ${ready.pid}, port ${ready.port})`])
      // A second signal ends the process at once.
      for (const signal of ['SIGTERM', 'SIGINT'] as const)
        process.once(signal, () => void running[Symbol.asyncDispose]())
    })
  return command
}
