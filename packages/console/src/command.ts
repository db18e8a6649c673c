import { jsonOption } from '@bonded/cli/arguments'
import { openBeside, type Options } from '@bonded/cli/open'
import { readServiceConfig } from '@bonded/cli/service-config'
import { closeService } from '@bonded/server/compose'
import { openLog } from '@bonded/server/log'
import type { Config } from '@bonded/server/settings/config'
import { Command, InvalidArgumentError, Option } from 'commander'
import { readAccess } from './access.ts'
import { Provider } from './provider.ts'
import { serveConsole } from './server.ts'
import { ProviderSignIn } from './sign-in.ts'

interface ConsoleOptions extends Options {
  readonly access: string
  readonly listen: { readonly host: string; readonly port: number }
}

/** Enough for a few people, and few beside those of the nodes. */
const POOL_SIZE = 3
/** A page that takes longer is not worth the work of the database. */
const STATEMENT_TIMEOUT_MS = 3_000
const DEFAULT_LISTEN = { host: '127.0.0.1', port: 8450 }

/** `bonded console`: the operator's pages, in a process and with connections of its own. */
export function consoleCommand(): Command {
  return new Command('console')
    .description('Serve the operator’s console to a browser')
    .addOption(
      new Option('--access <file>', 'Who may sign in, and where (YAML)').makeOptionMandatory(),
    )
    .addOption(
      new Option('--listen <host:port>', 'Where to listen')
        .argParser(parseListen)
        .default(DEFAULT_LISTEN, `${DEFAULT_LISTEN.host}:${DEFAULT_LISTEN.port}`),
    )
    .addOption(jsonOption('Print the ready message as JSON, and the log to stderr'))
    .action(async (options: ConsoleOptions) => {
      const { json, listen } = options
      const access = readAccess(options.access)
      const log = openLog('info', json === true ? 'stderr' : 'stdout')
      const service = await openBeside(bounded(await readServiceConfig(options)), { log })
      const running = await serveConsole({
        service,
        origin: access.origin,
        signIn: (parts) => new ProviderSignIn(new Provider(access, parts.now), parts),
        log,
        ...listen,
      })
      const ready = { ready: access.origin, pid: process.pid, port: running.port }
      process.stdout.write(
        json === true
          ? `${JSON.stringify(ready)}\n`
          : `ready: ${ready.ready} (pid ${ready.pid}, port ${ready.port})\n`,
      )
      const end = async () => {
        await running[Symbol.asyncDispose]()
        await closeService(service)
      }
      // A second signal ends the process at once.
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end())
    })
}

/** The console takes little of what the nodes need. */
function bounded(config: Config): Config {
  const { postgres } = config
  if (postgres === undefined) return config
  const poolSize = Math.min(postgres.poolSize, POOL_SIZE)
  const statementTimeoutMs = Math.min(postgres.statementTimeoutMs, STATEMENT_TIMEOUT_MS)
  return { ...config, postgres: { ...postgres, poolSize, statementTimeoutMs } }
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (bare !== '' && Number(port) <= 65_535) return { host: bare, port: Number(port) }
  throw new InvalidArgumentError('Expected an address and a port, such as 127.0.0.1:8450.')
}
